import type { DType, EngineName } from "../../engine/index.ts";
import { engine as engineOf, isFloat } from "../../engine/index.ts";
import { expectAllSame, failure, usualTolerance } from "../compare.ts";
import type { Dense } from "../dense.ts";
import { dense } from "../dense.ts";
import { add, applyRow, convert, like } from "../math.ts";
import { references } from "../reference/index.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import { sampler } from "../sampler.ts";
import type { FromSample } from "./apply.ts";
import { inOneProgram, nameOf } from "./apply.ts";

/** What a row gives for a sample, by its reference. */
export function expectedOf(row: string, sample: Sample): readonly Dense[] {
  const reference = references.get(row);
  if (!reference)
    throw failure(`${row} has no reference: say what it gives in plain TypeScript, in testing/reference/`);
  return reference(sample.inputs, sample.params as never);
}

/** Floating-point types an engine has beside f32. */
export const furtherFloats = (engine: EngineName): readonly DType[] =>
  (["f64", "f16", "bf16"] as const).filter((dtype) => engineOf(engine).lacks(dtype) === undefined);

const hasFloats = ({ inputs }: Sample): boolean => inputs.some((input) => isFloat(input.dtype));

/** Samples in the floating-point types that the engine has beside f32, but for edges. */
export const furtherSamples = (make: SampleMaker, engine: EngineName, seed: number): readonly Sample[] =>
  furtherFloats(engine).flatMap((dtype) =>
    make(sampler(seed), dtype).filter((sample) => sample.for !== "values" && hasFloats(sample)),
  );

/** A row's values: against its reference, and against another engine. */
export async function checkValues(
  row: string,
  make: SampleMaker,
  engine: EngineName,
  other: EngineName | undefined,
  seed: number,
): Promise<void> {
  const shared = make(sampler(seed), "f32");
  const all = [...shared, ...furtherSamples(make, engine, seed)];
  const results = await apply(engine, row, all);
  all.forEach((sample, i) => {
    const name = nameOf(row, sample);
    expectAllSame(
      `${name} on ${engine}`,
      results[i] as readonly Dense[],
      onward(expectedOf(row, sample)),
      closeness(sample),
    );
  });
  if (!other) return;
  const theirs = await apply(other, row, shared);
  shared.forEach((sample, i) => {
    const name = `${nameOf(row, sample)} on ${engine}, compared with ${other}`;
    expectAllSame(name, results[i] as readonly Dense[], theirs[i] as readonly Dense[], closeness(sample));
  });
}

const apply = (engine: EngineName, row: string, samples: readonly Sample[]) =>
  inOneProgram(engine, row, samples, withOnward(row))(samples.map((sample) => sample.inputs));

/** Reading cuts a number to its type, which hides one that is held in a wider type: whole numbers are used once more. */
const withOnward =
  (row: string): FromSample =>
  (sample, inputs) => {
    const results = applyRow(row, inputs, sample.params);
    const whole = results.filter(({ dtype }) => !isFloat(dtype));
    return [
      ...results,
      ...whole.map((result) =>
        result.dtype === "i32" ? add(result, like(result, 0)) : convert(result, "i32"),
      ),
    ];
  };

const onward = (results: readonly Dense[]): readonly Dense[] => [
  ...results,
  ...results.filter(({ dtype }) => !isFloat(dtype)).map(({ shape, data }) => dense("i32", shape, data)),
];

/** How close a sample's results must come. */
export function closeness(sample: Sample): { readonly tolerance?: number; readonly floor?: number } {
  const float = sample.inputs.find((input) => isFloat(input.dtype))?.dtype ?? "f32";
  return {
    tolerance: usualTolerance(float) * (sample.slack ?? 1),
    ...(sample.floor === undefined ? {} : { floor: sample.floor }),
  };
}
