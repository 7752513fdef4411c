import { describe, expect, it } from "vitest";
import { flatten, treeMap } from "../core/index.ts";
import type { Dense } from "../engine/conformance/dense.test-support.ts";
import { expectSame, parseTensor } from "../engine/conformance/dense.test-support.ts";
import { putDense } from "../engine/conformance/run.test-support.ts";
import { compile, type EngineName, type Tensor, type Value } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as optim from "./index.ts";
import fixture from "./optim.fixture.json" with { type: "json" };

/** Where an optimizer of PyTorch or optax brings parameters: see scripts/fixtures/optim.py. */
interface Case {
  readonly reference: string;
  readonly optimizer: readonly unknown[];
  readonly learningRate?: number;
  readonly after: readonly unknown[];
  readonly average?: unknown;
}

const { problem } = fixture;
const cases = (fixture.cases as readonly Case[]).map((each) => ({
  ...each,
  name: `${JSON.stringify(each.optimizer)} and ${each.reference}`,
}));

const factories = new Map<unknown, (...args: readonly unknown[]) => unknown>(
  Object.entries(optim) as [string, (...args: readonly unknown[]) => unknown][],
);

/** `["adam", { ... }]` as the call it stands for. */
function made(spec: unknown): unknown {
  if (Array.isArray(spec)) {
    const factory = factories.get(spec[0]);
    return factory ? factory(...spec.slice(1).map(made)) : spec;
  }
  if (typeof spec !== "object" || spec === null) return spec;
  return Object.fromEntries(Object.entries(spec).map(([key, value]) => [key, made(value)]));
}

type Params<T = Value> = { readonly [name: string]: T | Params<T> };

const tensors = (tree: unknown, engine: EngineName) =>
  treeMap((text: string) => putDense(parseTensor(text) as Dense, engine), tree) as Params<Tensor>;

async function expectTree(what: string, actual: unknown, expected: unknown): Promise<void> {
  const [got, wanted]: [unknown[], unknown[]] = [[], []];
  expect(flatten(actual, got)).toEqual(flatten(expected, wanted));
  for (const [i, text] of wanted.entries()) {
    const { dtype, shape } = (got[i] as Tensor).type;
    const data = [...(await (got[i] as Tensor).read())];
    expectSame(`${what}, leaf ${i}`, { dtype, shape, data }, parseTensor(text as string) as Dense, {
      tolerance: 1e-5,
      floor: 0.1,
    });
  }
}

describe.each(sweepEngines())("on %s", (engine) => {
  it.each(cases)("$name agree to 1e-5 over 100 updates", async (each) => {
    const optimizer = made(each.optimizer) as optim.Optimizer;
    const step = compile(
      (params: Params, state: optim.OptimizerState, gradient: Params, rates: optim.Rates) => {
        const grads = treeMap((g: Value, p: Value) => g.add(p.mul(0.3)), gradient, params);
        const next = optimizer.update(grads, state, params, rates);
        return { params: optim.applyUpdates(params, next.updates), state: next.state };
      },
      { engine, donate: [0, 1] },
    );
    const gradients = problem.gradients.map((gradient) => tensors(gradient, engine));
    let params = tensors(problem.params, engine);
    let state = compile(optimizer.init, { engine })(params);
    for (let t = 0; t < 100; t++) {
      const factor = problem.factors[t % problem.factors.length] as number;
      const rates = each.learningRate === undefined ? {} : { learningRate: each.learningRate * factor };
      const gradient = gradients[t % gradients.length] as Params<Tensor>;
      ({ params, state } = step(params, state, gradient, rates));
      const at = problem.after.indexOf(t + 1);
      if (at >= 0) await expectTree(`after ${t + 1}`, params, each.after[at]);
    }
    if (each.average) await expectTree("the average", optim.treeIn(state, "average"), each.average);
    expect(step.programs).toBe(1);
  });
});
