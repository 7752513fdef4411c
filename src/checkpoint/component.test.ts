import { describe, expect, it } from "vitest";
import { compile, np, put, Tensor, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { firstDifference, type StateTree } from "../state/index.ts";
import { memoryStore, type StoredFile } from "./index.ts";
import { readComponent, tensorTypes, treeOf } from "./read-component.ts";
import { readHeader } from "./safetensors/tensors.ts";
import { imageOf } from "./snapshot.ts";
import { writeComponent } from "./write-component.ts";

async function fileOf(state: StateTree, beforeWriting: () => void = () => undefined): Promise<StoredFile> {
  const store = memoryStore();
  const lock = await store.lock();
  const writer = await lock.begin("one");
  const image = imageOf(state, true);
  beforeWriting();
  await writeComponent("part", image, await writer.file("part"));
  await writer.commit();
  return (await store.open("one")).file("part");
}

async function roundTrip(state: StateTree, unchecked = false): Promise<StateTree> {
  const file = await fileOf(state);
  const options = { placed: () => undefined, unchecked };
  return (await readComponent(file, await readHeader(file), options)).state;
}

const odd: StateTree = {
  z: 1,
  a: [null, true, "text", -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-300, [], {}, [[]]],
  "a.b": { $: "tensor", more: Number.NEGATIVE_INFINITY },
  $: { $: "NaN" },
  ["__proto__"]: 5,
  __metadata__: Float32Array.of(1, -0, Number.NaN),
  f64: Float64Array.of(0.1),
  bytes: Uint8Array.of(1, 2, 255),
  nothing: new Int32Array(0),
  u32: Uint32Array.of(2 ** 32 - 1),
};

describe("a component's file", () => {
  it("brings a tree back exactly: odd keys, odd numbers, order of keys, typed arrays", async () => {
    for (const unchecked of [false, true]) {
      const back = await roundTrip(odd, unchecked);
      expect(back).toEqual(odd);
      expect(Object.keys(back as object)).toEqual(Object.keys(odd as object));
      expect(await firstDifference(odd, back)).toBeUndefined();
    }
  });

  it.each([
    ["a number", 3],
    ["null", null],
    ["a list", [1, [2]]],
    ["an empty object", {}],
    ["an empty array before others", { first: new Float64Array(0), second: Float64Array.of(1) }],
    ["an empty array alone", new Float32Array(0)],
  ] as [string, StateTree][])("holds a state that is %s", async (_name, state) => {
    expect(await roundTrip(state)).toEqual(state);
  });

  it("names tensors by their readable paths", async () => {
    const file = await fileOf({ layers: [{ w: Float32Array.of(1) }], "x.y": Float64Array.of(2) });
    expect([...(await readHeader(file)).tensors.keys()]).toEqual(['["x.y"]', "layers[0].w"]);
  });

  it("is a picture of the moment: later changes to arrays and values do not show", async () => {
    const array = Float32Array.of(1, 2);
    const state = { array, count: 1 };
    const file = await fileOf(state, () => {
      array[0] = 9;
      state.count = 2;
    });
    const options = { placed: () => undefined, unchecked: false };
    expect((await readComponent(file, await readHeader(file), options)).state).toEqual({
      array: Float32Array.of(1, 2),
      count: 1,
    });
  });

  it("keeps large arrays beside small ones", async () => {
    const large = Float32Array.from({ length: 600_000 }, (_, i) => i);
    const many = Array.from({ length: 50 }, (_, i) => new Float32Array(30_000).fill(i));
    const state = { large, many, tail: Uint8Array.of(1) };
    expect(await firstDifference(state, await roundTrip(state))).toBeUndefined();
    expect(await firstDifference(state, await roundTrip(state, true))).toBeUndefined();
  });
});

describe.each(testEngines())("tensors of %s", (engine) => {
  const dtypes = [
    "f32",
    "i32",
    "u32",
    "u8",
    "bool",
    ...(engine === "xla" ? (["f64", "f16", "bf16"] as const) : []),
  ] as const;

  it("come back as tensors of the same type, on the device asked for", async () => {
    const state = Object.fromEntries(
      dtypes.map((dtype) => [dtype, put([[0, 1, 2]], { dtype, engine })] as const),
    );
    const file = await fileOf({
      ...state,
      scalar: put(7, { engine }),
      empty: put(new Float32Array(0), { shape: [0, 2], engine }),
    });
    const header = await readHeader(file);
    const placed = () => state.f32;
    const back = (await readComponent(file, header, { placed, unchecked: false })).state as Record<
      string,
      Tensor
    >;
    for (const dtype of dtypes) {
      expect(back[dtype]).toBeInstanceOf(Tensor);
      expect(back[dtype]?.type).toBe(state[dtype]?.type);
      expect(back[dtype]?.device).toBe(state[dtype]?.device);
    }
    expect(back.scalar?.shape).toEqual([]);
    expect(back.empty?.shape).toEqual([0, 2]);
    const { scalar: _s, empty: _e, ...rest } = back;
    expect(await firstDifference(state, rest)).toBeUndefined();
    expect(tensorTypes(treeOf(header)).get("u8")).toBe("u8[1,3]");
  });

  it("can be read and used while they are kept: a step that does not donate leaves them alone", async () => {
    const step = compile((w: Value) => np.add(w, 1), { engine });
    const w = put([1, 2], { engine });
    const file = await fileOf({ w }, () => step(w));
    const { state } = await readComponent(file, await readHeader(file), {
      placed: () => w,
      unchecked: false,
    });
    expect(await firstDifference(state, { w: Float32Array.of(1, 2) })).toBeUndefined();
  });

  it("that were donated before they were written are an error that names them and the remedy", async () => {
    const step = compile((w: Value) => np.add(w, 1), { engine, donate: [0] });
    const w = put([1, 2], { engine });
    await expect(fileOf({ params: { w } }, () => step(w))).rejects.toThrow(
      /part: params\.w was donated to a later step.*SNAPSHOT_LOST.*gives copies/s,
    );
  });
});
