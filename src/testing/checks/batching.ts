import type { EngineName, Value } from "../../engine/index.ts";
import { isFloat, vmap } from "../../engine/index.ts";
import { expectSame, failure } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { stacked, unstacked, varied } from "../dense.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import { sampler } from "../sampler.ts";
import type { Batch } from "./apply.ts";
import { inOneProgram, nameOf, theRow } from "./apply.ts";
import { checkWithoutInputs, nested, noExamples } from "./batching-edges.ts";
import { gradients, smooth } from "./objective.ts";
import { closeness } from "./values.ts";

const examples = 2;

/** Which inputs are mapped: every combination of up to three, else each alone and all together. */
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
