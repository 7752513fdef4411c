import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { firstDifference, type StateTree } from "../state/index.ts";
import { Holder, somebody } from "./fakes.test-support.ts";
import { localStore } from "./index.ts";
import { CheckpointManager } from "./manager.ts";
import { findOriginal } from "./safetensors/python.test-support.ts";

// Written by version 1 and never again: it must be readable for ever.
const directory = fileURLToPath(new URL("./fixtures/version-1", import.meta.url));
const name = "epoch-0003-update-000120";
const engine = "wasm";
const states: Readonly<Record<string, StateTree>> = {
  params: {
    layers: [
      {
        w: put(
          [
            [1, 2, 3],
            [4, 5, -0],
          ],
          { engine },
        ),
        b: put([0.5], { engine }),
      },
    ],
    "odd.key": put(7, { engine }),
  },
  optimizer: {
    step: 120,
    seen: put(new Int32Array([1, -2]), { engine }),
    mask: put([true, false, true], { engine }),
    bytes: put(Uint8Array.of(0, 255), { engine }),
    empty: put(new Float32Array(0), { shape: [0, 2], engine }),
  },
  "hook.early stop": {
    best: Number.POSITIVE_INFINITY,
    lost: Number.NaN,
    zero: -0,
    history: Float64Array.of(0.1, Number.NaN),
    key: Uint32Array.of(4294967295),
    none: null,
    list: [],
    object: {},
    $: { $: "x" },
  },
};

describe("the checkpoint of version 1", () => {
  const manager = new CheckpointManager({
    store: localStore(directory),
    computedBy: async () => ({ ...somebody, engine }),
  });

  it("is whole, and restores bit for bit", async () => {
    expect(await manager.verify(name)).toEqual([]);
    const components = Object.fromEntries(
      Object.entries(states).map(([part, state]) => [part, new Holder(state)]),
    );
    const config = { batch: 32, optimizer: { name: "adam" } };
    const manifest = await manager.restore(components, await manager.load(name), { config });
    for (const [part, state] of Object.entries(states))
      expect(await firstDifference(state, components[part]?.state ?? null), part).toBeUndefined();
    expect(manifest).toMatchObject({
      run: "fixture",
      sequence: 1,
      savedAt: "2026-01-02T03:04:05.000Z",
      counters: { epoch: 3, epochs: 3, updates: 120, samples: 3840 },
      metrics: { loss: 0.25, worst: Number.NaN },
      scores: { accuracy: 0.75 },
      metadata: { note: "the first version" },
    });
  });

  it("gives one tensor by its path", async () => {
    const { data, shape } = await (await manager.load(name)).tensor("params", "layers[0].w");
    expect([...data]).toEqual([1, 2, 3, 4, 5, -0]);
    expect(shape).toEqual([2, 3]);
  });

  const original = findOriginal();
  if ("missing" in original) it.skip(`is read by the original library: ${original.missing}`, () => undefined);
  else
    it("is read by the original library", () => {
      const { tensors } = original.read(`${directory}/${name}/params.safetensors`);
      expect(Object.keys(tensors).sort()).toEqual(['["odd.key"]', "layers[0].b", "layers[0].w"]);
      expect(tensors["layers[0].b"]).toEqual({ dtype: "F32", shape: [1], hex: "0000003f" });
    });
});
