import { type DType, type EngineName, engine as engineOf, grad, isFloat, type Value } from "../../index.ts";
import {
  type Closeness,
  type Dense,
  dense,
  expectSame,
  failure,
  isClose,
  typeText,
  unravel,
} from "../dense.test-support.ts";
import { add, applyRow, constant, like, mul, total } from "../run.test-support.ts";
import { type Sample, type SampleMaker, sampler } from "../sampler.test-support.ts";
import { expectedOf, type FromSample, inOneProgram, nameOf } from "./values.test-support.ts";

/** Step and closeness of central differences in an element type. */
const differences: Readonly<Record<string, Closeness & { readonly step: number }>> = {
  f64: { step: 1e-5, tolerance: 1e-6, floor: 1 },
  f32: { step: 4e-3, tolerance: 3e-2, floor: 1 },
};

/**
 * First and second derivatives of a row by every floating-point input, against central differences of the objective
 * and of the first derivatives: in f64 where the engine has it, else in f32 and against the other engine's.
 */
export async function checkDerivatives(
  row: string,
  make: SampleMaker,
  engine: EngineName,
  other: EngineName | undefined,
  seed: number,
): Promise<void> {
  const float = engineOf(engine).lacks("f64") === undefined ? "f64" : "f32";
  const samples = smooth(row, make, seed, float);
  if (samples.length === 0) return;
  const run = inOneProgram(engine, row, samples, bothOrders(row));
  const inputs = samples.map((sample) => sample.inputs);
  const results = await run(inputs);
  await againstDifferences(row, samples, results, run, float);
  if (!other || other === engine) return;
  const same = float === "f32" ? samples : smooth(row, make, seed, "f32");
  const mine = float === "f32" ? results : await evaluate(engine, row, same);
  const theirs = await evaluate(other, row, same);
  same.forEach((sample, i) => {
    mine[i]?.forEach((result, k) => {
      const name = `${nameOf(row, sample)}: derivative ${k} on ${engine}, compared with ${other}`;
      expectSame(name, result, theirs[i]?.[k] as Dense, { tolerance: 1e-4, floor: 1 });
    });
  });
}

const evaluate = (engine: EngineName, row: string, samples: readonly Sample[]) =>
  inOneProgram(engine, row, samples, bothOrders(row))(samples.map((sample) => sample.inputs));

async function againstDifferences(
  row: string,
  samples: readonly Sample[],
  results: readonly (readonly Dense[])[],
  run: ReturnType<typeof inOneProgram>,
  float: DType,
): Promise<void> {
  const limits = differences[float] as Closeness & { readonly step: number };
  const spots = samples.map(floatElements);
  const rounds = Math.max(...spots.map((list) => list.length));
  // All samples take a step in the same call, each by the next of its elements.
  for (let round = 0; round < rounds; round++) {
    const moved = (by: number) =>
      run(samples.map((sample, i) => nudged(sample.inputs, spots[i]?.[round], by)));
    const [above, below] = [await moved(limits.step), await moved(-limits.step)];
    samples.forEach((sample, i) => {
      const spot = spots[i]?.[round];
      if (!spot) return;
      const slope = (k: number) => {
        const [high, low] = [above[i]?.[k]?.data[0] as number, below[i]?.[k]?.data[0] as number];
        return (high - low) / (2 * limits.step);
      };
      const found = results[i] as readonly Dense[];
      const count = (found.length - 2) / 2;
      [found[2 + spot.order], found[2 + count + spot.order]].forEach((grad, order) => {
        const actual = (grad as Dense).data[spot.at] as number;
        if (isClose(actual, slope(order), limits)) return;
        const input = sample.inputs[spot.input] as Dense;
        throw failure(
          `${nameOf(row, sample)}: ${order === 0 ? "first" : "second"} derivative by input ${spot.input} (${typeText(input)}) at [${unravel(spot.at, input.shape).join(", ")}] is ${actual}, but differences give ${slope(order)}`,
        );
      });
    });
  }
}

interface Spot {
  readonly input: number;
  /** Its index among the floating-point inputs. */
  readonly order: number;
  readonly at: number;
}

function floatElements({ inputs }: Sample): readonly Spot[] {
  let order = 0;
  return inputs.flatMap((input, i) => {
    if (!isFloat(input.dtype)) return [];
    const mine = order++;
    return input.data.map((_, at) => ({ input: i, order: mine, at }));
  });
}

const nudged = (inputs: readonly Dense[], spot: Spot | undefined, by: number): readonly Dense[] =>
  inputs.map((input, i) =>
    i !== spot?.input
      ? input
      : dense(
          input.dtype,
          input.shape,
          input.data.map((value, k) => (k === spot.at ? value + by : value)),
        ),
  );

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
const bothOrders =
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
