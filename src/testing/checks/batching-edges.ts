import type { EngineName, Op, Value } from "../../engine/index.ts";
import { isLacking, opTable, vmap } from "../../engine/index.ts";
import { expectAllSame } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { stacked, unstacked, varied } from "../dense.ts";
import { applyRow } from "../math.ts";
import type { Sample } from "../sample.ts";
import { inOneProgram, nameOf, theRow } from "./apply.ts";
import { closeness, expectedOf } from "./values.ts";

/** Two mapped axes: both over everything, and one over the first input with the other over the rest. */
export async function nested(row: string, sample: Sample, engine: EngineName): Promise<void> {
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
export async function noExamples(row: string, sample: Sample, engine: EngineName): Promise<void> {
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
export async function checkWithoutInputs(
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
