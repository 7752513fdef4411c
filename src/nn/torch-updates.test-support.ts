import { expect } from "vitest";
import { isPlainObject, treeLeaves, treeMap } from "../core/index.ts";
import { expectSame } from "../engine/conformance/dense.test-support.ts";
import { putDense } from "../engine/conformance/run.test-support.ts";
import { compile, type EngineName, read, type Tensor, Value, valueAndGrad } from "../engine/index.ts";
import * as nn from "./index.ts";
import type { Model, Params } from "./model.ts";
import type { LstmState, Recurrent, SequenceInput } from "./recurrent/index.ts";
import { closeness, type Text, tensor, tensors } from "./recurrent/torch-cases.test-support.ts";

/** A model in training by plain SGD: see scripts/fixtures/torch_updates.py. */
export interface TorchUpdates {
  /** What it is about. */
  readonly updates: string;
  /** The calls that make the model and the loss. */
  readonly model: readonly unknown[];
  readonly loss: readonly [name: string, options?: object];
  readonly rate: number;
  readonly params: Text;
  /** Also `options`, those of the loss that are tensors, and `key`, for layers that draw random numbers. */
  readonly batch: { readonly input: Text; readonly targets: string; readonly [name: string]: Text };
  readonly losses: string;
  readonly trained: Text;
}

/** The trainings among a fixture's cases, by what they are about. */
export function trainingsOf(
  cases: readonly object[],
): readonly (readonly [string, readonly TorchUpdates[]])[] {
  const all = cases.filter((given): given is TorchUpdates => "updates" in given);
  return [...new Set(all.map(({ updates }) => updates))].map((name) => [
    name,
    all.filter(({ updates }) => updates === name),
  ]);
}

const factories = nn as unknown as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** `["dense", 3]` as the call it stands for, `{ function: "tanh" }` as the function; both at any depth. */
function made(spec: unknown): unknown {
  if (Array.isArray(spec)) {
    const [name, ...args] = spec as readonly unknown[];
    const factory = typeof name === "string" ? factories[name] : undefined;
    return factory ? factory(...args.map(made)) : spec.map(made);
  }
  if (!isPlainObject(spec)) return spec;
  if (typeof spec.function === "string") return factories[spec.function];
  return Object.fromEntries(Object.entries(spec).map(([name, value]) => [name, made(value)]));
}

interface Batch {
  readonly input: Value | SequenceInput<LstmState>;
  readonly targets: Value;
  readonly options?: object;
  readonly key?: Value;
}

/** The loss of a training's parameters. */
function lossOf({
  model: call,
  loss: [name, options],
}: TorchUpdates): (params: Params, batch: Batch) => Value {
  const model = made(call) as Model<unknown, Value | LstmState> & Partial<Recurrent<LstmState>>;
  const predicted = (params: Params, { input, key }: Batch): unknown => {
    if (model.unroll && !(input instanceof Value)) return model.unroll(params, input).y;
    const y = model.apply(params, input, key ? { train: true, key } : {});
    return y instanceof Value ? y : y.h;
  };
  return (params, batch) =>
    factories[name]?.(predicted(params, batch), batch.targets, { ...options, ...batch.options }) as Value;
}

const placed = (text: unknown, engine: EngineName): never =>
  treeMap((one: string) => putDense(tensor(one), engine), text as never) as never;

/** Trains for 100 updates, all of the runs in one program, and compares every loss and the last parameters. */
export async function holdUpdates(engine: EngineName, runs: readonly TorchUpdates[]): Promise<void> {
  const losses = runs.map(lossOf);
  const step = compile(
    (all: readonly Params[], batches: readonly Batch[]) =>
      losses.map((loss, i) => {
        const [value, grads] = valueAndGrad(loss)(all[i] as Params, batches[i] as Batch);
        const rate = (runs[i] as TorchUpdates).rate;
        return {
          value,
          params: treeMap((w: Value, g: Value) => w.sub(g.mul(rate)), all[i], grads) as Params,
        };
      }),
    { engine, donate: [0] },
  );
  const batches = placed(
    runs.map(({ batch }) => batch),
    engine,
  );
  let params = placed(
    runs.map((run) => run.params),
    engine,
  );
  const curves: Tensor[][] = [];
  for (let t = 0; t < 100; t++) {
    const results = step(params, batches);
    params = results.map((result) => result.params) as never;
    curves.push(results.map(({ value }) => value));
  }
  const numbers = await read(curves);
  const ends = await read(treeLeaves<Tensor>(params));
  const expected = runs.flatMap(({ trained }) => tensors(trained));
  expect(ends).toHaveLength(expected.length);
  runs.forEach((run, i) => {
    const what = `${JSON.stringify(run.model)} by ${JSON.stringify(run.loss)} on ${engine}`;
    const curve = {
      dtype: "f32",
      shape: [100],
      data: numbers.map((each) => (each[i] as Float32Array)[0] as number),
    } as const;
    expectSame(`${what}: losses`, curve, tensor(run.losses), closeness);
    for (const one of tensors(run.trained)) {
      const data = [...(ends.shift() as Float32Array)];
      expectSame(`${what}: parameters`, { ...one, data }, one, closeness);
    }
  });
  expect(step.programs).toBe(1);
}
