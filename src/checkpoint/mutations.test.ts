import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { put } from "../engine/index.ts";
import { type StateTree, sameState } from "../state/index.ts";
import { Holder, somebody } from "./fakes.test-support.ts";
import { localStore } from "./index.ts";
import { CheckpointManager } from "./manager.ts";
import { FaultyFiles, processOf } from "./store/faulty-files.test-support.ts";

/** A checkpoint is altered in every way that a disk, or somebody with an editor, can think of; 10,000 times where that is asked for. */
const count = Number(process.env.ESPALIER_MUTATIONS ?? 2000);

const root = "/runs/one";
const states = (): Readonly<Record<string, StateTree>> => ({
  params: {
    layers: [{ w: put([1, 2, 3, 4], { shape: [2, 2], engine: "wasm" }), b: Float32Array.of(5, 6) }],
    n: 1,
  },
  "hook.counts": { heard: ["a", "b"], worst: Number.NaN, $: "own", list: Int32Array.of(1, 2, 3), empty: {} },
});

/** Uniform numbers from 0 to 1, the same for the same seed (mulberry32). */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type PlainObject = Record<string, unknown>;
const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** A list of lists, as text: what is made of it overflows the stack of whoever goes down by recursion. */
const tall = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const deepMark = "replaced by a deep tree";

const senseless: readonly unknown[] = [
  null,
  "x",
  "",
  -1,
  0.5,
  1e308,
  2 ** 53,
  true,
  [],
  {},
  [[]],
  { $: "NaN" },
  { $: "tensor" },
  { $: "constructor" },
  { $: 1 },
  { $: "object" },
  { $: "object", entries: [1] },
  { $: "array", more: 1 },
  "../../elsewhere",
  "\u001b[31m",
  deepMark,
];

/** Puts something senseless at a place of a JSON value, chosen at random: the value itself, an entry, one below. */
function replaced(value: unknown, random: () => number): unknown {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (keys.length === 0 || random() < 0.1) return pick(senseless);
  const key = pick(keys);
  const inside = replaced((value as PlainObject)[key], random);
  if (Array.isArray(value)) return value.map((item, i) => (String(i) === key ? inside : item));
  const copy: PlainObject = { ...(value as PlainObject), [key]: inside };
  if (random() < 0.05) delete copy[key];
  return copy;
}

const levels = [900, 5_000, 200_000] as const;

async function setUp() {
  const files = new FaultyFiles();
  const store = localStore(root, { fs: files.fs, processes: processOf(1, new Set([1])) });
  const manager = new CheckpointManager({ store, computedBy: async () => somebody });
  const parts = (given = states()) =>
    Object.fromEntries(Object.entries(given).map(([name, state]) => [name, new Holder(state)]));
  const { name, manifest } = await manager.save(parts(), {
    counters: { epochs: 3, updates: 120 },
    metrics: { loss: 1e-7 },
    scores: { accuracy: 0.5 },
    config: { batch: 32, deep: [{ a: 1 }] },
    metadata: { note: "mine", $: 1 },
  });
  const paths = files.paths().filter((path) => path.startsWith(`${root}/${name}/`));
  const original = new Map(paths.map((path) => [path, files.file(path).data]));
  const manifestPath = `${root}/${name}/manifest.json`;
  const write = (path: string, bytes: Uint8Array) => {
    files.file(path).data = bytes;
  };

  /** A manifest with a checksum that fits. */
  const writeManifest = (plain: PlainObject, random: () => number): void => {
    const { checksum: _, ...rest } = plain;
    const deep = tall(levels[Math.floor(random() * levels.length)] as number);
    const text = JSON.stringify(rest).replace(JSON.stringify(deepMark), deep);
    const whole = text === "{}" ? "{" : `${text.slice(0, -1)},`;
    write(manifestPath, encode(`${whole}"checksum":"${sha256(text)}"}`));
  };

  const mutations = {
    "a flipped bit": (random: () => number) => {
      const path = paths[Math.floor(random() * paths.length)] as string;
      const bytes = Uint8Array.from(original.get(path) as Uint8Array);
      const at = Math.floor(random() * bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
      write(path, bytes);
      return { path, codes: ["CHECKPOINT_DAMAGED"], alike: true };
    },
    "a file cut off": (random: () => number) => {
      const path = paths[Math.floor(random() * paths.length)] as string;
      const bytes = original.get(path) as Uint8Array;
      write(path, bytes.subarray(0, Math.floor(random() * bytes.length)));
      return { path, codes: ["CHECKPOINT_DAMAGED"], alike: true };
    },
    "a field of the manifest, with its checksum": (random: () => number) => {
      const plain = JSON.parse(decode(original.get(manifestPath) as Uint8Array)) as PlainObject;
      const { checksum: _, ...rest } = plain;
      const key = Object.keys(rest)[Math.floor(random() * Object.keys(rest).length)] as string;
      writeManifest({ ...rest, [key]: replaced(rest[key], random) }, random);
      return {
        path: undefined,
        codes: ["CHECKPOINT_DAMAGED", "CHECKPOINT_NEWER", "CHECKPOINT_VERSION", "CHECKPOINT_MISMATCH"],
        alike: true,
      };
    },
    "a header or a tree, with all hashes": (random: () => number) => {
      const components = Object.entries(manifest.components);
      const [component, record] = components[
        Math.floor(random() * components.length)
      ] as (typeof components)[0];
      const path = `${root}/${name}/${record.file}`;
      const bytes = original.get(path) as Uint8Array;
      const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
      const header = JSON.parse(decode(bytes.subarray(8, 8 + length))) as {
        __metadata__: Record<string, string>;
      };
      const deep = tall(levels[Math.floor(random() * levels.length)] as number);
      const inTree = random() < 0.7;
      const key = "espalier.tree";
      const tree = JSON.parse(header.__metadata__[key] as string) as unknown;
      const changed = inTree
        ? {
            ...header,
            __metadata__: {
              [key]: JSON.stringify(replaced(tree, random)).replace(JSON.stringify(deepMark), deep),
            },
          }
        : replaced(header, random);
      const text = encode(
        inTree ? JSON.stringify(changed) : JSON.stringify(changed).replace(JSON.stringify(deepMark), deep),
      );
      const whole = new Uint8Array(8 + text.length + bytes.length - 8 - length);
      new DataView(whole.buffer).setBigUint64(0, BigInt(text.length), true);
      whole.set(text, 8);
      whole.set(bytes.subarray(8 + length), 8 + text.length);
      write(path, whole);
      const file = { ...record, bytes: whole.length, sha256: sha256(whole) };
      const plain = JSON.parse(decode(original.get(manifestPath) as Uint8Array)) as PlainObject;
      writeManifest({ ...plain, components: { ...manifest.components, [component]: file } }, random);
      return { path: undefined, codes: ["CHECKPOINT_DAMAGED", "CHECKPOINT_MISMATCH"], alike: false };
    },
  } as const;
  const reset = () => original.forEach((bytes, path) => write(path, bytes));
  return { manager, mutations, parts, name, manifest, reset };
}

describe("an altered checkpoint", () => {
  it(`is refused or restored as it was, ${count} times (ESPALIER_MUTATIONS): no raw error, no wrong state`, async () => {
    const { manager, mutations, parts, name, manifest, reset } = await setUp();
    const saved = states();
    const kinds = Object.keys(mutations) as (keyof typeof mutations)[];
    const ends = new Map<string, number>();
    for (let seed = 0; seed < count; seed++) {
      const kind = kinds[seed % kinds.length] as (typeof kinds)[number];
      const what = `${kind}, seed ${seed}`;
      const { path, codes, alike } = mutations[kind](uniform(seed));
      const here = parts({ ...states(), "hook.counts": null });
      const outcome = await manager
        .load(name)
        .then((checkpoint) => manager.restore(here, checkpoint))
        .catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome, `${what}: ${outcome.stack}`).toBeInstanceOf(EspalierError);
        const { code, message } = outcome as EspalierError;
        expect(codes, `${what}: ${message}`).toContain(code);
        if (path !== undefined) expect(message, what).toContain(path);
        if (path !== undefined && !path.endsWith("manifest.json"))
          expect(message, what).toContain("component");
        ends.set(code, (ends.get(code) ?? 0) + 1);
      } else {
        ends.set("restored", (ends.get("restored") ?? 0) + 1);
        if (path !== undefined) expect(outcome, what).toEqual(manifest);
        for (const [component, state] of Object.entries(alike ? saved : {}))
          expect(await sameState(state, (here[component] as Holder).state), `${what}: ${component}`).toBe(
            true,
          );
      }
      // Whoever looks for the newest finds it or nothing.
      if (seed % 8 < 4) expect([name, undefined], what).toContain((await manager.latest())?.name);
      reset();
    }
    await expect(manager.restore(parts(), await manager.load(name))).resolves.toEqual(manifest);
    expect([...ends.keys()].sort()).toEqual(
      expect.arrayContaining(["CHECKPOINT_DAMAGED", "CHECKPOINT_MISMATCH", "restored"]),
    );
  });
});
