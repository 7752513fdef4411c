import { describe, expect, it } from "vitest";
import { compile, np, put, read, type Value } from "../../engine/index.ts";
import type { Params } from "../../nn/index.ts";
import { box, dict, discrete } from "../spaces/index.ts";
import type { Space } from "../spaces/space.ts";
import { buildPolicy, loadPolicy, storedPolicy } from "./build.ts";
import { cartPole, stepped, torque } from "./policies.test-support.ts";
import type { Policy } from "./policy.ts";
import type { CnnSpec, PolicySpec } from "./spec.ts";

const url = new URL("./policies.test-support.ts", import.meta.url).href;

describe("a policy's description", () => {
  it.each<[spec: object, message: string]>([
    [{ tower: "shared" }, 'did you mean "towers"'],
    [{ towers: "sharde" }, 'did you mean "shared"'],
    [{ encoder: { kind: "mpl" } }, 'did you mean "mlp"'],
    [{ encoder: { kind: "mlp", hiden: [4] } }, 'did you mean "hidden"'],
    [{ encoder: { kind: "mlp", hidden: 64 } }, "hidden is 64"],
    [{ encoder: { kind: "mlp", hidden: [0] } }, "hidden is [0]"],
    [{ encoder: { kind: "mlp", activation: "rel" } }, 'did you mean "relu"'],
    [{ encoder: { kind: "cnn", channels: [] } }, "channels is []"],
    [{ encoder: { kind: "cnn", channels: [4, 4], kernel: [3] } }, "kernel has 1 numbers for 2 convolutions"],
    [{ encoder: { kind: "cnn", channels: [4], scale: 0 } }, "scale is 0"],
    [{ encoder: { kind: "cnn", channels: [4], scale: { eye: -1 } } }, 'scale is {"eye":-1}'],
    [{ encoder: "mlp" }, 'policy: encoder is "mlp"'],
    [{ memory: { kind: "gur", width: 4 } }, 'did you mean "gru"'],
    [{ memory: { kind: "gru" } }, "width is missing"],
    [{ deviation: "none" }, 'deviation is "none"'],
    [{ logDeviation: Number.NaN }, "logDeviation is NaN"],
    [{ squash: 1 }, "squash is 1"],
    [{ module: { url } }, "name is missing"],
  ])("%o is refused", (spec, message) => {
    expect(() => buildPolicy(spec as PolicySpec, cartPole)).toThrow(message);
  });

  it("asks for spaces that it can work with", () => {
    const code = (spec: PolicySpec, spaces: object): string => {
      try {
        buildPolicy(spec, { ...cartPole, ...spaces });
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
      return "none";
    };
    expect(code({}, { actionSpace: dict({ a: discrete(2) }) })).toBe("SPACE_UNSUPPORTED");
    expect(code({ squash: true }, { actionSpace: box({ shape: [1] }) })).toBe("SPACE_UNSUPPORTED");
    expect(code({ squash: true }, { actionSpace: torque })).toBe("none");
    expect(code({ encoder: { kind: "cnn", channels: [4] } }, {})).toBe("SPACE_UNSUPPORTED");
  });

  it("is plain data: what is made from a copy has the same parameters", async () => {
    const spec: PolicySpec = { encoder: { kind: "mlp", hidden: [8] }, memory: { kind: "lstm", width: 4 } };
    const policy = buildPolicy(spec, cartPole);
    const copy = buildPolicy(JSON.parse(JSON.stringify(policy.spec)), cartPole);
    const [own, other] = await Promise.all(
      [policy, copy].map((made) => read(made.init(0, { engine: "wasm" }))),
    );
    expect(other).toEqual(own);
    expect(own).not.toEqual(await read(policy.init(1, { engine: "wasm" })));
    expect([policy.recurrent, policy.convolves]).toEqual([true, false]);
  });
});

describe("what pictures are divided by", () => {
  const cnn = { kind: "cnn", channels: [2], hidden: [] } as const;
  const seen = (high: number | readonly number[], low: number | readonly number[] = 0) =>
    box({ shape: [3, 3, 1], low, high });
  const scaleOf = (observationSpace: Space, encoder: CnnSpec = cnn, normalized = false) => {
    const { spec } = buildPolicy({ encoder }, { observationSpace, actionSpace: discrete(2) }, { normalized });
    return (spec.encoder as CnnSpec).scale;
  };

  it("follows from their bounds, and is part of the description", () => {
    expect(scaleOf(seen(255))).toBe(255);
    expect(scaleOf(seen(4, -8))).toBe(8);
    expect(scaleOf(seen([...Array(8).fill(1), 255]))).toBe(255);
    for (const space of [seen(1), seen(1, -1), seen(Infinity), seen(3.4e38)])
      expect(scaleOf(space)).toBeUndefined();
    expect(scaleOf(dict({ eye: seen(255), gear: discrete(3), map: seen(255) }))).toBe(255);
    expect(scaleOf(dict({ eye: seen(255), map: seen(1) }))).toEqual({ eye: 255, map: 1 });
    expect(scaleOf(seen(255), { ...cnn, scale: 2 })).toBe(2);
    expect(scaleOf(seen(255), cnn, true)).toBeUndefined();
  });

  const give = async (policy: Policy, numbers: number) => {
    const params = policy.init(0, { engine: "wasm" });
    const x = put(new Float32Array(9).fill(numbers), { shape: [1, 9], engine: "wasm" });
    const run = compile(
      (p: Params, observation: Value) =>
        policy.step(p, { observation, state: {}, reset: np.ones([1], { dtype: "bool" }) }).parameters,
    );
    return [...((await run(params, x).read()) as Float32Array)];
  };

  it("brings bytes to where numbers without bounds are", async () => {
    const of = (observationSpace: Space, encoder: CnnSpec = cnn) =>
      buildPolicy({ encoder }, { observationSpace, actionSpace: discrete(2) });
    const plain = await give(of(seen(1)), 1);
    expect(await give(of(seen(255)), 255)).toEqual(plain);
    expect(await give(of(seen(255), { ...cnn, scale: 1 }), 255)).not.toEqual(plain);
  });

  it("stays what it was for a policy that was stored without it", async () => {
    const spaces = { observationSpace: seen(255), actionSpace: discrete(2) };
    const before = buildPolicy({ encoder: { ...cnn, scale: 1 } }, spaces);
    const stored = await storedPolicy({ encoder: cnn }, spaces);
    expect(await give(stored, 255)).toEqual(await give(before, 255));
    expect((await loadPolicy({ encoder: cnn }, spaces)).spec.encoder).toMatchObject({ scale: 255 });
  });

  it("is refused for a picture that there is not, and so are windows larger than pictures", () => {
    const eyes = dict({ eye: seen(255) });
    expect(() => scaleOf(eyes, { ...cnn, scale: { eyes: 2 } })).toThrow(/did you mean "eye"/);
    expect(() => scaleOf(seen(255), { ...cnn, channels: [2, 2], kernel: 2, strides: 2 })).toThrow(
      expect.objectContaining({
        code: "OPTION_INVALID",
        message: expect.stringMatching(/convolution 1 is 2 by 2.*\[3, 3, 1\] is 1 by 1/),
      }),
    );
  });
});

describe("what a policy is given", () => {
  const policy = buildPolicy({}, { ...cartPole, actionSpace: torque });
  const params = policy.init(0, { engine: "wasm" });
  const x = put(new Float32Array(8), { shape: [2, 4], engine: "wasm" });
  const reset = put([true, true], { dtype: "bool", engine: "wasm" });

  it("has no masks where there are no choices", () => {
    const run = compile(
      (p: Params, observation: Value, r: Value) =>
        policy.step(p, { observation, state: {}, reset: r, mask: r }).value,
      { engine: "wasm" },
    );
    expect(() => run(params, x, reset)).toThrow(expect.objectContaining({ code: "MASK_UNSUPPORTED" }));
  });

  it("has the observation's size", () => {
    const run = compile(
      (p: Params, observation: Value, r: Value) =>
        policy.unroll(p, { observation, state: {}, reset: r }).value,
      { engine: "wasm" },
    );
    expect(() => run(params, x, reset)).toThrow("should be [rows, time, 4]");
  });
});

describe("a policy of one's own", () => {
  const spec: PolicySpec = { module: { url, name: "oneNumber" } };

  it("is imported, and keeps the description it came from", async () => {
    const policy = await loadPolicy(spec, cartPole);
    expect(policy.spec).toBe(spec);
    expect(policy.observationSpace).toBe(cartPole.observationSpace);
    const params = policy.init(0, { engine: "wasm" });
    const { value } = await stepped("wasm", policy, params, 2, 3);
    expect(value.length).toBe(6);
  });

  it("is one of ours where there is no module", async () => {
    expect((await loadPolicy({ towers: "shared" }, cartPole)).distribution.kind).toBe("categorical");
  });

  it.each<[module: { url: string; name: string }, message: string]>([
    [{ url, name: "oneNumbr" }, 'did you mean "oneNumber"'],
    [{ url, name: "nothing" }, "has no distribution, initialState, step, unroll"],
    [{ url: "./here.ts", name: "x" }, "is relative to nothing"],
    [{ url: new URL("./nowhere.ts", import.meta.url).href, name: "x" }, "could not be imported"],
  ])("%o is refused", async (module, message) => {
    await expect(loadPolicy({ module }, cartPole)).rejects.toThrow(message);
  });

  it("cannot be built without waiting", () => {
    expect(() => buildPolicy(spec, cartPole)).toThrow("await loadPolicy");
  });
});
