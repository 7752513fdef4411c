import { type EngineName, isFloat, isLacking, type Op, opTable, type Value, vmap } from "../../index.ts";
import {
  type Dense,
  expectAllSame,
  expectSame,
  failure,
  stacked,
  unstacked,
  varied,
} from "../dense.test-support.ts";
import { applyRow } from "../run.test-support.ts";
import { type Sample, type SampleMaker, sampler } from "../sampler.test-support.ts";
import { gradients, smooth } from "./derivatives.test-support.ts";
import { type Batch, closeness, expectedOf, inOneProgram, nameOf, theRow } from "./values.test-support.ts";

const examples = 2;

/** Combinations of mapped inputs: every combination of up to three, else each alone and all together. */
function combinations(count: number): readonly (readonly boolean[])[] {
  if (count <= 3)
    return Array.from({ length: 2 ** count - 1 }, (_, bits) =>
      Array.from({ length: count }, (_, i) => (((bits + 1) >> i) & 1) === 1),
    );
  const all = Array.from({ length: count }, () => true);
  return [...all.map((_, at) => all.map((_, i) => i === at)), all];
}

const axes = (mapped: readonly boolean[]): (number | null)[] => mapped.map((is) => (is ? 0 : null));

/** A sample whose inputs are stacks of examples where they are mapped. */
const mapped = (sample: Sample, which: readonly boolean[]): Sample => ({
  ...sample,
  inputs: sample.inputs.map((input, i) =>
    which[i] ? stacked(Array.from({ length: examples }, (_, e) => varied(input, e))) : input,
  ),
});

const example = (sample: Sample, which: readonly boolean[], e: number): readonly Dense[] =>
  sample.inputs.map((input, i) => (which[i] ? varied(input, e) : input));

/** Something to map: a name, what it does to one example, and how to run it example by example. */
interface Subject {
  readonly name: string;
  readonly fn: (sample: Sample, inputs: readonly Value[]) => readonly Value[];
}

/** A row under vmap against a loop over examples, for each combination of mapped inputs; nested; and its gradient. */
export async function checkBatching(
  row: string,
  make: SampleMaker,
  engine: EngineName,
  seed: number,
): Promise<void> {
  const samples = make(sampler(seed), "f32").filter((sample) => sample.for !== "values");
  const withInputs = samples.filter((sample) => sample.inputs.length > 0);
  if (withInputs.length === 0) return checkWithoutInputs(row, samples, engine);
  await mapEach(row, { name: row, fn: theRow(row) }, withInputs, engine);
  const [first] = smooth(row, make, seed, "f32");
  const derivative: Subject = {
    name: `the gradient of ${row}`,
    fn: (sample, inputs) => gradients(row, sample, inputs),
  };
  if (first) await mapEach(row, derivative, [first], engine, (input) => isFloat(input.dtype));
  await nested(row, withInputs[0] as Sample, engine);
  await noExamples(row, withInputs[0] as Sample, engine);
}

async function mapEach(
  row: string,
  { name, fn }: Subject,
  samples: readonly Sample[],
  engine: EngineName,
  only: (input: Dense) => boolean = () => true,
): Promise<void> {
  const single = inOneProgram(engine, row, samples, fn);
  const jobs = samples.flatMap((sample, at) =>
    combinations(sample.inputs.length)
      .filter((which) => sample.inputs.every((input, i) => !which[i] || only(input)))
      .map((which) => ({ sample, which, at, stack: mapped(sample, which) })),
  );
  const whichOf = new Map(jobs.map((job) => [job.stack, job]));
  const batch = inOneProgram(
    engine,
    `vmap of ${name}`,
    jobs.map((job) => job.stack),
    (stack, inputs) => {
      const { sample, which } = whichOf.get(stack) as (typeof jobs)[number];
      return vmap((...one: Value[]) => fn(sample, one), { inAxes: axes(which) })(...inputs);
    },
  );
  const results = await batch(jobs.map((job) => job.stack.inputs));
  const loops = await loop(single, samples);
  jobs.forEach(({ sample, which, at }, j) => {
    const what = `vmap of ${nameOf(name, sample)} over ${which.map((is) => (is ? "x" : "-")).join("")} on ${engine}`;
    results[j]?.forEach((result, k) => {
      const parts = unstacked(result);
      if (parts.length !== examples)
        throw failure(`${what}: ${parts.length} examples instead of ${examples}`);
      parts.forEach((part, e) => {
        const expected = loops(at, which, e)[k] as Dense;
        expectSame(`${what}, example ${e}`, part, expected, { floor: 0.1, ...closeness(sample) });
      });
    });
  });
}

/** Runs every combination of examples through the program for one example, all samples at once. */
async function loop(
  single: Batch,
  samples: readonly Sample[],
): Promise<(at: number, which: readonly boolean[], e: number) => readonly Dense[]> {
  const most = Math.max(...samples.map((sample) => combinations(sample.inputs.length).length));
  const rounds: (readonly (readonly Dense[])[])[] = [];
  const key = new Map<string, number>();
  for (let c = 0; c < most; c++)
    for (let e = 0; e < examples; e++) {
      const inputs = samples.map((sample, at) => {
        const list = combinations(sample.inputs.length);
        const which = list[c % list.length] as readonly boolean[];
        key.set(`${at};${which.join()};${e}`, rounds.length);
        return example(sample, which, e);
      });
      rounds.push(await single(inputs));
    }
  return (at, which, e) => rounds[key.get(`${at};${which.join()};${e}`) as number]?.[at] as readonly Dense[];
}

/** Two mapped axes: both over everything, and one over the first input with the other over the rest. */
async function nested(row: string, sample: Sample, engine: EngineName): Promise<void> {
  const fn = (...one: Value[]) => applyRow(row, one, sample.params);
  const count = sample.inputs.length;
  const grid = sample.inputs.map((input) =>
    stacked(
      [0, 1, 2, 3].map((e) => varied(input, e)),
      [2, 2],
    ),
  );
  const pairs = sample.inputs.map((input) => stacked([0, 1].map((e) => varied(input, e))));
  const outer = sample.inputs.map((_, i) => (i === 0 ? 0 : null));
  const inner = sample.inputs.map((_, i) => (i === 0 ? null : 0));
  const both: Sample = { ...sample, inputs: [...grid, ...(count > 1 ? pairs : [])] };
  const [results] = (await inOneProgram(engine, `nested vmap of ${row}`, [both], (_, inputs) => [
    ...vmap(vmap(fn))(...inputs.slice(0, count)),
    ...(count > 1 ? vmap(vmap(fn, { inAxes: inner }), { inAxes: outer })(...inputs.slice(count)) : []),
  ])([both.inputs])) as [readonly Dense[]];
  const single = inOneProgram(engine, row, [sample], theRow(row));
  const one = async (inputs: readonly Dense[]) => (await single([inputs]))[0] as readonly Dense[];
  const outputs = expectedOf(row, sample).length;
  for (let e = 0; e < 4; e++) {
    const what = `nested vmap of ${nameOf(row, sample)} on ${engine}, example ${e}`;
    const close = { floor: 0.1, ...closeness(sample) };
    const part = (from: number) =>
      results.slice(from, from + outputs).map((result) => unstacked(result, 2)[e] as Dense);
    expectAllSame(what, part(0), await one(sample.inputs.map((input) => varied(input, e))), close);
    if (count === 1) continue;
    const mixed = sample.inputs.map((input, i) => varied(input, i === 0 ? e >> 1 : e & 1));
    expectAllSame(`${what}, inputs apart`, part(outputs), await one(mixed), close);
  }
}

/** No examples at all: nothing to compute, but the shapes are there. */
async function noExamples(row: string, sample: Sample, engine: EngineName): Promise<void> {
  const empty: Sample = {
    ...sample,
    inputs: sample.inputs.map(({ dtype, shape }) => ({ dtype, shape: [0, ...shape], data: [] })),
  };
  const fn = (...one: Value[]) => applyRow(row, one, sample.params);
  const run = inOneProgram(engine, `vmap over no examples of ${row}`, [empty], (_, inputs) =>
    vmap(fn)(...inputs),
  );
  const [results] = (await run([empty.inputs])) as [readonly Dense[]];
  const expected = expectedOf(row, sample).map(({ dtype, shape }) => ({
    dtype,
    shape: [0, ...shape],
    data: [],
  }));
  expectAllSame(`vmap over no examples of ${nameOf(row, sample)} on ${engine}`, results, expected);
}

/** Rows without inputs are never mapped, as nothing in them is; their rule repeats them. */
async function checkWithoutInputs(
  row: string,
  samples: readonly Sample[],
  engine: EngineName,
): Promise<void> {
  const rule = (opTable.get(row) as Op).batch;
  if (isLacking(rule)) return;
  const run = inOneProgram(engine, `batching rule of ${row}`, samples, (sample) =>
    rule([] as never, sample.params, 2),
  );
  const results = await run(samples.map(() => []));
  samples.forEach((sample, i) => {
    const twice = expectedOf(row, sample).map((result) => stacked([result, result]));
    expectAllSame(
      `batching rule of ${nameOf(row, sample)} on ${engine}`,
      results[i] as readonly Dense[],
      twice,
    );
  });
}
