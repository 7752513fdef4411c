import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { localStore, memoryStore } from "../../checkpoint/index.ts";
import { readReplay, writeReplay } from "./files.ts";
import { decodeReplay, encodeReplay } from "./format.ts";
import { type Replay, recordEpisode } from "./replay.ts";
import { filed, pair, slide, walk } from "./replays.test-support.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "espalier-replays-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const record = (seed = 3): Promise<Replay> => recordEpisode({ env: walk(), seed, lesson: 1, act: () => 1 });

describe("the format", () => {
  it.each([
    ["whole numbers", record],
    [
      "several agents",
      () =>
        recordEpisode({
          env: pair(),
          seed: 1,
          act: () => [
            [2, 0],
            [1, 1],
          ],
        }),
    ],
    ["numbers", () => recordEpisode({ env: slide(), seed: 1, act: ([x = 0]) => [-x / 3] })],
    ["nothing", () => recordEpisode({ env: walk(), seed: 1, act: () => 0, maxSteps: 0 })],
  ])("keeps everything of an episode of %s", async (_what, make) => {
    const replay = await make();
    expect(decodeReplay(encodeReplay(replay))).toEqual(replay);
  });

  it("is small", async () => {
    const replay = await recordEpisode({ env: walk(), seed: 1, act: ([x = 0]) => (x > 0 ? 0 : 1) });
    expect(replay.length).toBe(30);
    expect(encodeReplay(replay).length).toBeLessThan(700);
  });

  it("has stayed readable since its first version", () => {
    const first = readFileSync(new URL("fixtures/version-1.replay", import.meta.url));
    expect(decodeReplay(first)).toEqual(filed);
  });

  it("finds every byte that is missing", async () => {
    const bytes = encodeReplay(await record());
    for (let length = 1; length < bytes.length; length++)
      expect(() => decodeReplay(bytes.subarray(0, length), "x.replay")).toThrow(
        /x\.replay is damaged.*REPLAY_DAMAGED/s,
      );
  });

  it("finds bytes that were altered", async () => {
    const bytes = encodeReplay(await record());
    // The gzip header's time and system say nothing of the content.
    for (let at = 12 + 10; at < bytes.length; at += 7) {
      const altered = Uint8Array.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ 4;
      expect(() => decodeReplay(altered)).toThrow(/REPLAY_DAMAGED/);
    }
  });

  it("refuses what is no replay, and what a newer Espalier wrote", async () => {
    expect(() => decodeReplay(Buffer.from("hello, this is a text"), "notes.txt")).toThrow(
      /notes\.txt is not a replay.*REPLAY_INVALID/s,
    );
    expect(() => decodeReplay(new Uint8Array())).toThrow(/REPLAY_INVALID/);
    const bytes = Buffer.from(encodeReplay(await record()));
    bytes.writeUInt32LE(2, 8);
    expect(() => decodeReplay(bytes)).toThrow(/version 2.*reads up to 1.*newer Espalier.*/s);
    bytes.writeUInt32LE(0, 8);
    expect(() => decodeReplay(bytes)).toThrow(/REPLAY_DAMAGED/);
  });

  it.each<[string, object]>([
    ["agents", { agents: 0 }],
    ["returns", { returns: [1, 2] }],
    ["end", { end: "soon" }],
    ["seed", { seed: "7" }],
    ["observations", { observations: { every: 0, marks: [], digest: "" } }],
  ])("refuses a header whose %s make no sense", async (name, wrong) => {
    const bytes = encodeReplay({ ...(await record()), ...wrong } as Replay);
    expect(() => decodeReplay(bytes)).toThrow(new RegExp(`damaged: its ${name} .*REPLAY_DAMAGED`, "s"));
  });
});

describe("replays in a directory", () => {
  it("are found whole, under a name made of what they are", async () => {
    const replay = await record();
    const { path, uri, bytes } = await writeReplay(join(directory, "a", "b"), replay);
    expect(path).toBe(join(directory, "a", "b", "Walk-long-seed-3.replay"));
    expect(uri).toBe(pathToFileURL(path).href);
    expect(bytes).toBe(readFileSync(path).length);
    expect(await readReplay(path)).toEqual(replay);
    expect(await readReplay(uri)).toEqual(replay);
    expect(await readReplay(new URL(uri))).toEqual(replay);
    expect(readdirSync(join(directory, "a", "b"))).toEqual(["Walk-long-seed-3.replay"]);
  });

  it("may be named, and replace those of the same name", async () => {
    await writeReplay(directory, await record(1), { name: "../best of/7" });
    const { path } = await writeReplay(directory, await record(2), { name: "../best of/7" });
    expect(readdirSync(directory)).toEqual(["_._best_of_7.replay"]);
    expect((await readReplay(path)).seed).toBe(2);
  });

  it("fail with a fix where they cannot be written or read", async () => {
    writeFileSync(join(directory, "file"), "");
    await expect(writeReplay(join(directory, "file"), await record())).rejects.toThrow(
      /could not be written.*REPLAY_WRITE/s,
    );
    await expect(readReplay(join(directory, "none.replay"))).rejects.toThrow(
      /no replay .*none.*REPLAY_MISSING/s,
    );
    await expect(readReplay(directory)).rejects.toThrow(/REPLAY_UNREADABLE/);
    await expect(readReplay("gs://bucket/a.replay")).rejects.toThrow(/does not lead to a file.*REPLAY_URI/s);
  });
});

describe.each([
  ["memory", () => memoryStore()],
  ["a directory", () => localStore(join(directory, "store"))],
])("replays in a store in %s", (_where, make) => {
  it("are entries that can be read and replaced", async () => {
    const store = make();
    await writeReplay(store, await record(1), { name: "best" });
    const { path } = await writeReplay(store, await record(2), { name: "best" });
    expect(await store.list()).toEqual(["best"]);
    expect(path).toBe(store.path("best"));
    expect(await readReplay("best", store)).toEqual(await record(2));
    await expect(readReplay("worst", store)).rejects.toThrow(/REPLAY_MISSING/);
  });
});
