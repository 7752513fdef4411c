import { describe, expect, it } from "vitest";
import { treeLeaves } from "../../core/index.ts";
import { compile, grad, np, put, read, type Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import type { Params } from "../../nn/index.ts";
import { box, dict, discrete, flatSize, multiDiscrete } from "../spaces/index.ts";
import { buildPolicy } from "./build.ts";
import {
  cartPole,
  expectClose,
  numbers,
  pathsOf,
  picture,
  putSequence,
  stepped,
  unrolled,
} from "./policies.test-support.ts";
import type { Policy } from "./policy.ts";
import type { PolicySpec } from "./spec.ts";

const small: PolicySpec["encoder"] = { kind: "mlp", hidden: [8] };
const convolved: PolicySpec["encoder"] = {
  kind: "cnn",
  channels: [3, 4],
  kernel: [3, 2],
  hidden: [6],
  scale: 255,
};

const kinds: readonly (readonly [name: string, policy: Policy])[] = [
  ["mlp", buildPolicy({}, cartPole)],
  ["shared mlp", buildPolicy({ encoder: small, towers: "shared" }, cartPole)],
  [
    "cnn",
    buildPolicy({ encoder: convolved }, { observationSpace: picture, actionSpace: multiDiscrete([3, 2]) }),
  ],
  [
    "cnn of a dict, with gru",
    buildPolicy(
      { encoder: convolved, memory: { kind: "gru", width: 5 }, towers: "shared" },
      {
        observationSpace: dict({ eye: picture, gear: discrete(3), to: dict({ map: picture }) }),
        actionSpace: box({ shape: [2] }),
      },
    ),
  ],
  ["gru", buildPolicy({ encoder: small, memory: { kind: "gru", width: 5 } }, cartPole)],
  ["lstm", buildPolicy({ encoder: small, memory: { kind: "lstm", width: 5 } }, cartPole)],
  [
    "shared lstm with dependent deviations",
    buildPolicy(
      { encoder: small, memory: { kind: "lstm", width: 5 }, towers: "shared", deviation: "dependent" },
      { ...cartPole, actionSpace: box({ shape: [2] }) },
    ),
  ],
];

describe.each(sweepEngines())("policies on %s", (engine) => {
  it.each(kinds)(
    "%s gives over time what it gives step by step, and gradients flow",
    async (_name, policy) => {
      const params = policy.init(1, { engine });
      const { x, reset } = putSequence(engine, 2, 4, flatSize(policy.observationSpace));
      const run = compile(
        (p: Params, v: Value, r: Value) => ({
          over: unrolled(policy, p, v, r),
          grads: grad((q: Params) => {
            const { parameters, value } = unrolled(policy, q, v, r);
            const wave = np.reshape(np.cos(np.arange(parameters.size, { dtype: "f32" })), parameters.shape);
            return np.add(np.sum(np.multiply(parameters, wave)), np.mean(np.square(value)));
          })(p),
        }),
        { engine },
      );
      const { over, grads } = await read(run(params, x, reset));
      const after = await stepped(engine, policy, params, 2, 4);
      expect(over.parameters.length).toBe(8 * policy.distribution.parameters);
      expectClose(over.parameters, after.parameters);
      expectClose(over.value, after.value);

      const leaves = treeLeaves<Float32Array>(grads as never);
      pathsOf(params).forEach((path, i) => {
        const leaf = leaves[i] as Float32Array;
        expect(leaf.every(Number.isFinite), path).toBe(true);
        expect(
          leaf.some((x) => x !== 0),
          path,
        ).toBe(true);
      });
    },
  );

  it.each(["gru", "lstm"] as const)(
    "%s forgets all at a reset, NaN included, and only there",
    async (kind) => {
      const policy = buildPolicy({ encoder: small, memory: { kind, width: 5 } }, cartPole);
      const params = policy.init(0, { engine });
      const run = compile(
        (p: Params, x: Value, before: Value, reset: Value) => {
          const fill = (state: object): object =>
            Object.fromEntries(
              Object.entries(state).map(([name, value]) => [
                name,
                "shape" in value ? np.multiply(np.onesLike(value), before) : fill(value),
              ]),
            );
          const state = fill(policy.initialState(2)) as Params;
          const one = policy.step(p, { observation: x, state, reset });
          const over = policy.unroll(p, {
            observation: np.expandDims(x, 1),
            state,
            reset: np.expandDims(reset, 1),
          });
          return { one: one.parameters, value: one.value, over: over.parameters, state: one.state };
        },
        { engine },
      );
      const x = put(numbers(2, 4), { shape: [2, 4], engine });
      const reset = put([true, false], { dtype: "bool", engine });
      const results = async (before: number) =>
        treeLeaves<Float32Array>((await read(run(params, x, put(before, { engine }), reset))) as never);
      const [fresh, spoiled, other] = [await results(0), await results(Number.NaN), await results(0.5)];
      fresh.forEach((expected, i) => {
        const half = expected.length / 2;
        expect(spoiled[i]?.subarray(0, half)).toEqual(expected.subarray(0, half));
        expect(spoiled[i]?.subarray(half).every(Number.isNaN)).toBe(true);
        expect(other[i]?.subarray(0, half)).toEqual(expected.subarray(0, half));
        expect(other[i]?.subarray(half)).not.toEqual(expected.subarray(half));
      });
    },
  );

  it("forbids by masks, step by step and over time", async () => {
    const policy = buildPolicy({ encoder: small }, { ...cartPole, actionSpace: multiDiscrete([3, 2]) });
    const params = policy.init(0, { engine });
    const { x, reset } = putSequence(engine, 2, 3, 4);
    const allowed = [true, false, true, true, false];
    const run = compile(
      (p: Params, v: Value, r: Value) => {
        const mask = np.broadcastTo(np.array(allowed), [2, 3, 5]);
        const entropy = (q: Params): Value =>
          np.sum(policy.distribution.entropy(unrolled(policy, q, v, r, mask).parameters));
        return { over: unrolled(policy, p, v, r, mask), entropy: entropy(p), grads: grad(entropy)(p) };
      },
      { engine },
    );
    const { over, entropy, grads } = await read(run(params, x, reset));
    expectClose(over.parameters, (await stepped(engine, policy, params, 2, 3, allowed)).parameters);
    over.parameters.forEach((logit, i) => {
      expect(logit === -1e9).toBe(!allowed[i % 5]);
    });
    // Two of three choices and one of two are left, nearly equally likely at first.
    expect(entropy[0]).toBeCloseTo(6 * Math.log(2), 2);
    for (const leaf of treeLeaves<Float32Array>(grads as never))
      expect(leaf.every(Number.isFinite)).toBe(true);
  });
});
