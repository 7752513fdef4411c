import { expect } from "vitest";
import { leafPaths, flatten as shapeOfTree } from "../../core/index.ts";
import { compile, type EngineName, np, put, type Tensor, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import { box, discrete, flatSize } from "../spaces/index.ts";
import { buildPolicy } from "./build.ts";
import type { Policy, PolicyOutput, PolicySpaces } from "./policy.ts";

/** Numbers between -1 and 1 that look like nothing in particular. */
export const numbers = (...shape: number[]): Float32Array =>
  Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(1 + i * 1.7));

/** Observations [rows, time, size], and where episodes begin. */
export const sequence = (rows: number, time: number, size: number) => ({
  x: numbers(rows, time, size),
  starts: Array.from({ length: rows * time }, (_, i) => i % 5 === 2 || i % 7 === 0),
});

/** The same on an engine. */
export function putSequence(engine: EngineName, rows: number, time: number, size: number) {
  const { x, starts } = sequence(rows, time, size);
  return {
    x: put(x, { shape: [rows, time, size], engine }),
    reset: put(starts, { shape: [rows, time], dtype: "bool", engine }),
  };
}

/** A policy over time, at once. */
export const unrolled = (
  policy: Policy,
  params: Params,
  x: Value,
  reset: Value,
  mask?: Value,
): PolicyOutput =>
  policy.unroll(params, {
    observation: x,
    reset,
    mask,
    state: policy.initialState(x.shape[0] as number),
  });

/** A policy step by step, each a call of its own that is given what the one before remembered. */
export async function stepped(
  engine: EngineName,
  policy: Policy,
  params: Params<Tensor>,
  rows: number,
  time: number,
  mask?: readonly boolean[],
) {
  const { x, starts } = sequence(rows, time, flatSize(policy.observationSpace));
  const allowed = mask && Array.from({ length: rows }, () => mask);
  const step = compile(
    (p: Params, observation: Value, reset: Value, state: Named) =>
      policy.step(p, { observation, reset, state, mask: allowed && np.array(allowed) }),
    { engine },
  );
  const results = { parameters: [] as number[][], value: [] as number[][] };
  let state = compile(() => policy.initialState(rows), { engine })() as Named<Tensor>;
  for (let t = 0; t < time; t++) {
    const next = step(
      params,
      put(
        x.filter((_, i) => Math.floor((i * time * rows) / x.length) % time === t),
        {
          shape: [rows, x.length / rows / time],
          engine,
        },
      ),
      put(
        starts.filter((_, i) => i % time === t),
        { dtype: "bool", engine },
      ),
      state,
    );
    results.parameters.push([...(await next.parameters.read())]);
    results.value.push([...(await next.value.read())]);
    state = next.state;
  }
  // From [time, rows, ...] to [rows, time, ...].
  const turned = (steps: readonly number[][]): Float32Array => {
    const size = (steps[0]?.length ?? 0) / rows;
    return Float32Array.from(
      Array.from({ length: rows }, (_, r) => steps.map((row) => row.slice(r * size, (r + 1) * size))).flat(2),
    );
  };
  return { parameters: turned(results.parameters), value: turned(results.value) };
}

/** A policy of one's own, for `module`. */
class OneNumber {
  readonly #inner: Policy;
  constructor(spaces: PolicySpaces) {
    this.#inner = buildPolicy({ encoder: { kind: "mlp", hidden: [] } }, spaces);
  }
  get distribution() {
    return this.#inner.distribution;
  }
  readonly recurrent = false;
  readonly convolves = false;
  init: Policy["init"] = (...args) => this.#inner.init(...args);
  initialState: Policy["initialState"] = (rows) => this.#inner.initialState(rows);
  step(...args: Parameters<Policy["step"]>) {
    return this.#inner.step(...args);
  }
  unroll(...args: Parameters<Policy["unroll"]>) {
    return this.#inner.unroll(...args);
  }
}

export const oneNumber = (spaces: PolicySpaces): object => new OneNumber(spaces);
export const nothing = (): object => ({ init: () => ({}) });

export const cartPole = { observationSpace: box({ shape: [4] }), actionSpace: discrete(2) };
export const picture = box({ shape: [5, 5, 2], low: 0, high: 255 });
export const torque = box({ shape: [1], low: -2, high: 2 });

/** Where each parameter stands. */
export const pathsOf = (params: Params<Tensor>): readonly string[] => leafPaths(shapeOfTree(params, []));

/** Numbers of both, to some digits. */
export function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, within = 1e-5): void {
  expect(actual.length).toBe(expected.length);
  expect(
    Math.max(...Array.from(actual, (x, i) => Math.abs(x - (expected[i] as number)))),
  ).toBeLessThanOrEqual(within);
}
