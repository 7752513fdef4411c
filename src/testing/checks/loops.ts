import type { EngineName, Value } from "../../engine/index.ts";
import { scan } from "../../engine/index.ts";
import { expectAllSame } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { stacked, unstacked } from "../dense.ts";
import { applyRow } from "../math.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import { sampler } from "../sampler.ts";
import { type FromSample, inOneProgram, nameOf } from "./apply.ts";
import { closeness, expectedOf, furtherSamples } from "./values.ts";

const steps = 2;

/** A row in the body of a loop, which engines may run quite differently: each step against its reference. */
export async function checkInLoop(
  row: string,
  make: SampleMaker,
  engine: EngineName,
  seed: number,
): Promise<void> {
  const samples = [...make(sampler(seed), "f32"), ...furtherSamples(make, engine, seed)];
  const given = samples.map((sample) => sample.inputs.map((input) => stacked([input, input])));
  const inside = samples.map((sample, i): Sample => ({ ...sample, inputs: given[i] as readonly Dense[] }));
  const results = await inOneProgram(engine, row, inside, looped(row))(given);
  samples.forEach((sample, i) => {
    const expected = expectedOf(row, sample);
    const all = (results[i] as readonly Dense[]).map((stack) => unstacked(stack));
    for (let step = 0; step < steps; step++)
      expectAllSame(
        `${nameOf(row, sample)} in step ${step} of a loop on ${engine}`,
        all.map((each) => each[step] as Dense),
        expected,
        closeness(sample),
      );
  });
}

const looped =
  (row: string): FromSample =>
  (sample, inputs) => {
    const body = (_: null, xs: readonly Value[]) => [null, applyRow(row, xs ?? [], sample.params)] as const;
    const [, ys] = inputs.length > 0 ? scan(body, null, inputs) : scan(body, null, [], { length: steps });
    return ys as readonly Value[];
  };
