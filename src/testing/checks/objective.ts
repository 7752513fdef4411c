import type { DType, Value } from "../../engine/index.ts";
import { grad, isFloat } from "../../engine/index.ts";
import { add, applyRow, constant, like, mul, total } from "../math.ts";
import type { Sample, SampleMaker } from "../sample.ts";
import { sampler } from "../sampler.ts";
import type { FromSample } from "./apply.ts";
import { expectedOf } from "./values.ts";

/** Weights for one tensor, different for each element, so that no two derivatives can stand in for each other. */
const weighted = (x: Value, turn: number): Value => {
  const weights = Array.from({ length: x.size }, (_, i) => Math.cos(1.3 * i + turn) + 0.2);
  return total(mul(x, constant(weights, x.dtype, x.shape)));
};

const sum = (values: readonly Value[]): Value => values.reduce(add);

/** One number from a row's results, curved so that second derivatives are not 0 even where the row is straight. */
function objective(row: string, sample: Sample, inputs: readonly Value[]): Value {
  const results = applyRow(row, inputs, sample.params).filter((result) => isFloat(result.dtype));
  return sum(results.map((y, k) => weighted(add(y, mul(like(y, 0.5), mul(y, y))), k)));
}

/** A function of a sample's floating-point inputs alone. */
const ofFloats =
  (inputs: readonly Value[], fn: (inputs: readonly Value[]) => Value) =>
  (...floats: Value[]): Value => {
    const rest = [...floats];
    return fn(inputs.map((input) => (isFloat(input.dtype) ? (rest.shift() as Value) : input)));
  };

/** Gradients of the objective by the floating-point inputs. */
export function gradients(row: string, sample: Sample, inputs: readonly Value[]): readonly Value[] {
  const floats = inputs.filter((input) => isFloat(input.dtype));
  const by = floats.map((_, i) => i);
  return grad(
    ofFloats(inputs, (all) => objective(row, sample, all)),
    { argnums: by },
  )(...floats);
}

/** The objective, a weighted sum of its gradients, its gradients, and the gradients of that sum. */
export const bothOrders =
  (row: string): FromSample =>
  (sample, inputs) => {
    const floats = inputs.filter((input) => isFloat(input.dtype));
    const by = floats.map((_, i) => i);
    const mix = (all: readonly Value[]) =>
      sum(gradients(row, sample, all).map((g, k) => weighted(g, k + 0.5)));
    return [
      objective(row, sample, inputs),
      mix(inputs),
      ...gradients(row, sample, inputs),
      ...grad(ofFloats(inputs, mix), { argnums: by })(...floats),
    ];
  };

/** The samples of a row that have derivatives. */
export function smooth(row: string, make: SampleMaker, seed: number, float: DType): readonly Sample[] {
  return make(sampler(seed), float).filter(
    (sample) =>
      (sample.for ?? "all") === "all" &&
      sample.inputs.some((input) => isFloat(input.dtype)) &&
      expectedOf(row, sample).some((result) => isFloat(result.dtype)),
  );
}
