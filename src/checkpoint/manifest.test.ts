import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { noCounters } from "../schedule/index.ts";
import { computedBy, computedByDifferences } from "./computed-by.ts";
import { somebody } from "./fakes.test-support.ts";
import {
  configDifferences,
  configHash,
  decodeManifest,
  encodeManifest,
  type Manifest,
  migrate,
} from "./manifest.ts";

const manifest: Manifest = {
  format: "espalier-checkpoint",
  version: 2,
  name: "epoch-0001-update-000002",
  run: "läuft",
  sequence: 1,
  savedAt: "2026-01-01T00:00:00.000Z",
  counters: { ...noCounters, 10: 1, 9: 2 },
  metrics: { loss: Number.NaN, best: Number.NEGATIVE_INFINITY },
  scores: {},
  metadata: { $: "tensor", deep: [{ $: 1 }, -0] },
  config: null,
  configHash: configHash(null),
  computedBy: somebody,
  components: {},
};

describe("a manifest", () => {
  it("comes back as it was: odd numbers, keys and marks", () => {
    expect(decodeManifest(encodeManifest(manifest), "here")).toEqual(manifest);
  });

  it("says where components lie that share a file, without gaps or overlaps", () => {
    const record = { file: "values.bin", bytes: 8, sha256: "0".repeat(64), tensors: 0 };
    const sharing = (offset: number) => ({
      ...manifest,
      components: { b: { ...record, offset }, a: record },
    });
    expect(decodeManifest(encodeManifest(sharing(8)), "here")).toEqual(sharing(8));
    for (const offset of [0, 7, 9])
      expect(() => decodeManifest(encodeManifest(sharing(offset)), "here")).toThrow(
        /here: its components do not fill values\.bin.*CHECKPOINT_DAMAGED/s,
      );
  });

  it("is found altered, whatever was changed", () => {
    const text = encodeManifest(manifest);
    expect(() => decodeManifest(text.replace("läuft", "lauft"), "here")).toThrow(/here: it was altered/);
    expect(() => decodeManifest(text.replace('"sequence": 1', '"sequence": 2'), "here")).toThrow(/altered/);
    expect(() => decodeManifest("[]", "here")).toThrow(/CHECKPOINT_DAMAGED/);
    expect(() => decodeManifest("{}", "here")).toThrow(/not the manifest of a checkpoint/);
  });

  it("of an older version is brought up to date step by step", () => {
    const steps = {
      1: (old: object) => ({ ...old, two: true }),
      2: (old: object) => ({ ...old, three: true }),
    };
    expect(migrate({ version: 1, name: "a" }, "here", steps, 3)).toEqual({
      version: 3,
      name: "a",
      two: true,
      three: true,
    });
    expect(() => migrate({ version: 0 }, "here", steps, 3)).toThrow(/version 0, which never was/);
  });
});

describe("settings", () => {
  it("have a hash that does not depend on the order of keys", () => {
    expect(configHash({ a: 1, b: { c: [1, 2], d: null } })).toBe(
      configHash({ b: { d: null, c: [1, 2] }, a: 1 }),
    );
    expect(configHash({ a: 1 })).not.toBe(configHash({ a: "1" }));
    expect(configHash({ a: Number.NaN })).not.toBe(configHash({ a: null }));
  });

  it("differ in named places", () => {
    expect(configDifferences({ a: [1, 2], b: { c: 1 }, d: 1 }, { a: [1, 3], b: { c: 1, e: "x" } })).toEqual([
      "config.a is [1,2] in the checkpoint and [1,3] here",
      'config.b.e is only in this run ("x")',
      "config.d is only in the checkpoint (1)",
    ]);
    expect(configDifferences(null, { a: 1 })).toEqual(['config is null in the checkpoint and {"a":1} here']);
  });
});

describe("what computed it", () => {
  it.each(testEngines())("is described for %s, the same each time", async (engine) => {
    const { device } = put(1, { engine });
    const found = await computedBy(device, { deterministic: true });
    expect(found).toMatchObject({
      engine,
      threads: expect.any(Number),
      compileOptions: { deterministic: true },
    });
    expect(computedByDifferences(found, await computedBy(device, { deterministic: true }))).toEqual([]);
    expect(computedByDifferences(found, await computedBy(device))).toHaveLength(1);
  });

  it("does not count the version of Node or Espalier", () => {
    expect(computedByDifferences(somebody, { ...somebody, node: "99", espalier: "9" })).toEqual([]);
    expect(computedByDifferences(somebody, { ...somebody, v8: "2" })).toHaveLength(1);
  });
});
