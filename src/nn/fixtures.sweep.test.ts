import { describe, expect, it } from "vitest";
import { flatten, treeLeaves, unflatten } from "../core/index.ts";
import type { Dense } from "../engine/conformance/dense.test-support.ts";
import { expectSame, parseTensor } from "../engine/conformance/dense.test-support.ts";
import { onEngine } from "../engine/conformance/run.test-support.ts";
import { grad, isFloat, np, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "./index.ts";
import fixture from "./layers.fixture.json" with { type: "json" };
import type { Model, Params } from "./model.ts";
import { holdUpdates, trainingsOf } from "./torch-updates.test-support.ts";

/** What PyTorch gives: see scripts/fixtures/nn_layers.py. */
type Text = string | { readonly [name: string]: Text };
interface LayerCase {
  readonly layer: string;
  readonly args: readonly unknown[];
  readonly params: Text;
  readonly input: string;
  readonly output: string;
  readonly inputGradient?: string;
  readonly gradients: Text;
}
interface LossCase {
  readonly loss: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly value: string;
  readonly gradient: string;
}

const cases = fixture.cases as readonly unknown[];
const layers = cases.filter((given): given is LayerCase => "layer" in (given as object));
const losses = cases.filter((given): given is LossCase => "gradient" in (given as object));
const unique = (names: readonly string[]): readonly string[] => [...new Set(names)];

const tensor = (text: string): Dense => parseTensor(text) as Dense;
const tensors = (text: Text): Dense[] => treeLeaves<string>(text).map(tensor);
const named = nn as unknown as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
const made = (name: string, args: readonly unknown[]): unknown =>
  (named[name] as (...args: readonly unknown[]) => unknown)(...args);

/** 1e-5 of the number, or of 1 where sums of parts around 1 come out smaller. */
const closeness = { tolerance: 1e-5, floor: 1 };

const weighted = (y: Value): Value =>
  np.sum(np.multiply(y, np.reshape(np.cos(np.arange(y.size, { dtype: "f32" })), y.shape)));

/** Inputs of a case, and what to compute of them. */
interface Check {
  readonly name: string;
  readonly inputs: readonly Dense[];
  readonly expected: readonly Dense[];
  readonly run: (values: readonly Value[]) => readonly Value[];
}

function layerCheck({ layer, args, params, input, output, inputGradient, gradients }: LayerCase): Check {
  const model = made(layer, args) as Model;
  const shape = flatten(params, []);
  const byInput = inputGradient === undefined ? [] : [tensor(inputGradient)];
  return {
    name: `${layer}(${JSON.stringify(args)})`,
    inputs: [tensor(input), ...tensors(params)],
    expected: [tensor(output), ...byInput, ...tensors(gradients)],
    run: ([x, ...leaves]) => {
      const given = unflatten(shape, leaves) as Params;
      const sum = (p: Params, v: Value): Value => weighted(model.apply(p, v));
      const grads = isFloat((x as Value).dtype)
        ? grad(sum, { argnums: [0, 1] })(given, x as Value).toReversed()
        : [grad(sum)(given, x as Value)];
      return [model.apply(given, x as Value), ...treeLeaves<Value>(grads as never)];
    },
  };
}

function lossCheck({ loss, args, options, value, gradient }: LossCase): Check {
  const texts = Object.entries(options).filter(
    ([, given]) => typeof given === "string" && parseTensor(given),
  );
  return {
    name: `${loss} ${JSON.stringify(options)}`,
    inputs: [...args, ...texts.map(([, given]) => given as string)].map(tensor),
    expected: [tensor(value), tensor(gradient)],
    run: ([first, second, ...rest]) => {
      const given = { ...options, ...Object.fromEntries(texts.map(([name], i) => [name, rest[i]])) };
      const of = (x: Value): Value => made(loss, [x, second, given]) as Value;
      return [of(first as Value), grad((x: Value) => np.sum(of(x)))(first as Value)];
    },
  };
}

/** Runs the checks of one name as one program, so that it is compiled once. */
async function hold(engine: "wasm" | "xla", checks: readonly Check[]): Promise<void> {
  const program = onEngine(engine, (values) => {
    const rest = [...values];
    return checks.flatMap(({ inputs, run }) => run(rest.splice(0, inputs.length)));
  });
  const results = [...(await program(checks.flatMap(({ inputs }) => inputs)))];
  for (const { name, expected } of checks)
    expected.forEach((one, i) => {
      expectSame(`${name} on ${engine}, result ${i}`, results.shift() as Dense, one, closeness);
    });
  expect(results).toEqual([]);
}

describe.each(sweepEngines())("PyTorch's numbers on %s", (engine) => {
  it.each(unique(layers.map(({ layer }) => layer)))("%s, forward and gradients", async (name) => {
    await hold(engine, layers.filter(({ layer }) => layer === name).map(layerCheck));
  });

  it.each(unique(losses.map(({ loss }) => loss)))("%s, value and gradient", async (name) => {
    await hold(engine, losses.filter(({ loss }) => loss === name).map(lossCheck));
  });

  it.each(trainingsOf(fixture.cases))("%s trained for 100 updates", async (_name, runs) => {
    await holdUpdates(engine, runs);
  });
});
