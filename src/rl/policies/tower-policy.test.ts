import { describe, expect, it } from "vitest";
import { treeLeaves } from "../../core/index.ts";
import { read, type Tensor } from "../../engine/index.ts";
import { box, dict, discrete } from "../spaces/index.ts";
import { buildPolicy } from "./build.ts";
import { cartPole, expectClose, numbers, pathsOf, picture, stepped } from "./policies.test-support.ts";
import type { Policy } from "./policy.ts";
import type { PolicySpec } from "./spec.ts";

describe("policies' parameters", () => {
  const shapes = (policy: Policy): Readonly<Record<string, string>> => {
    const params = policy.init(0, { engine: "wasm" });
    const leaves = treeLeaves<Tensor>(params as never);
    return Object.fromEntries(pathsOf(params).map((path, i) => [path, leaves[i]?.shape.join(" ")])) as never;
  };

  it("are CleanRL's for CartPole", async () => {
    const tower = { "hidden0.w": "4 64", "hidden0.b": "64", "hidden1.w": "64 64", "hidden1.b": "64" };
    const of = (name: string, units: number) =>
      Object.entries({ ...tower, "head.w": `64 ${units}`, "head.b": `${units}` }).map(
        ([path, shape]) => [`${name}.${path}`, shape] as const,
      );
    expect(shapes(buildPolicy({}, cartPole))).toEqual(
      Object.fromEntries([...of("policy", 2), ...of("value", 1)]),
    );
  });

  it("start orthogonal: sqrt 2 in hidden layers, 0.01 and 1 in heads, and without biases", async () => {
    const params = (await read(buildPolicy({}, cartPole).init(3, { engine: "wasm" }))) as unknown as Record<
      "policy" | "value",
      Record<string, { readonly w: Float32Array; readonly b: Float32Array }>
    >;
    const length = (numbers: Float32Array): number => Math.hypot(...numbers);
    const column = (w: Float32Array, columns: number): Float32Array => w.filter((_, i) => i % columns === 0);
    for (const name of ["policy", "value"] as const) {
      const { hidden0, hidden1, head } = params[name];
      expect(length(hidden0?.w.subarray(0, 64) as Float32Array)).toBeCloseTo(Math.SQRT2, 5);
      expect(length(hidden1?.w.subarray(0, 64) as Float32Array)).toBeCloseTo(Math.SQRT2, 5);
      const units = name === "policy" ? 2 : 1;
      expect(length(column(head?.w as Float32Array, units))).toBeCloseTo(name === "policy" ? 0.01 : 1, 6);
      for (const { b } of Object.values(params[name])) expect(b.every((x) => x === 0)).toBe(true);
    }
    expect(params.policy.hidden0?.w).not.toEqual(params.value.hidden0?.w);
  });

  it("make what two layers of tanh and a head make of them", async () => {
    const policy = buildPolicy({}, cartPole);
    const params = policy.init(4, { engine: "wasm" });
    type Layer = { readonly w: Float32Array; readonly b: Float32Array };
    const drawn = (await read(params)) as unknown as Record<string, Record<string, Layer>>;
    const { parameters, value } = await stepped("wasm", policy, params, 1, 1);
    const layer = (x: readonly number[], { w, b }: Layer): number[] =>
      Array.from(b, (bias, j) => x.reduce((sum, v, i) => sum + v * (w[i * b.length + j] as number), bias));
    const tower = (name: string): number[] => {
      const { hidden0, hidden1, head } = drawn[name] as Record<string, Layer>;
      const first = layer([...numbers(4)], hidden0 as Layer).map(Math.tanh);
      return layer(layer(first, hidden1 as Layer).map(Math.tanh), head as Layer);
    };
    expectClose(parameters, tower("policy"), 1e-6);
    expectClose(value, tower("value"), 1e-6);
  });

  it("have readable paths with pictures, memories and shared towers", () => {
    const gears = dict({ eye: picture, gear: discrete(3) });
    const spec: PolicySpec = {
      encoder: { kind: "cnn", channels: [4], hidden: [] },
      memory: { kind: "gru", width: 5 },
      towers: "shared",
      logDeviation: -0.5,
    };
    const built = shapes(buildPolicy(spec, { observationSpace: gears, actionSpace: box({ shape: [2] }) }));
    expect(built).toEqual({
      "shared.pictures.eye.conv0.w": "3 3 2 4",
      "shared.pictures.eye.conv0.b": "4",
      // 3 * 3 places of 4 channels, and 3 gears.
      "shared.memory.layer0.input.w": "39 15",
      "shared.memory.layer0.input.b": "15",
      "shared.memory.layer0.hidden.w": "5 15",
      "shared.memory.layer0.hidden.b": "15",
      "policy.head.w": "5 2",
      "policy.head.b": "2",
      "policy.logDeviation": "2",
      "value.head.w": "5 1",
      "value.head.b": "1",
    });
  });

  it.each(["independent", "dependent"] as const)(
    "start with the deviation asked for, %s",
    async (deviation) => {
      const policy = buildPolicy(
        { deviation, logDeviation: -0.7 },
        { ...cartPole, actionSpace: box({ shape: [2], low: -1, high: 1 }) },
      );
      const params = policy.init(0, { engine: "wasm" });
      const { parameters } = await stepped("wasm", policy, params, 1, 2);
      for (const at of [2, 3, 6, 7]) expect(parameters[at]).toBeCloseTo(-0.7, 1);
      expect(policy.distribution.kind).toBe("gaussian");
    },
  );
});
