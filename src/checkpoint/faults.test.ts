import { describe, expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import { put } from "../engine/index.ts";
import { Holder, somebody } from "./fakes.test-support.ts";
import { localStore } from "./index.ts";
import type { CheckpointManagerOptions } from "./manager.ts";
import { CheckpointManager } from "./manager.ts";
import { FaultyFiles, processOf } from "./store/faulty-files.test-support.ts";

const root = "/runs/one";
const w = put(
  Float32Array.from({ length: 4000 }, (_, i) => i),
  { engine: "wasm" },
);
// One has a file of its own, the others share one.
const part = { part: new Holder({ w }), rest: new Holder([1]), more: new Holder(Float32Array.of(1, 2)) };

function setUp(options: Partial<CheckpointManagerOptions> = {}) {
  const files = new FaultyFiles();
  const warnings: string[] = [];
  const running = new Set([1, 2]);
  const managerOf = (pid: number, host = "here") =>
    new CheckpointManager({
      store: localStore(root, { fs: files.fs, processes: processOf(pid, running, host) }),
      computedBy: async () => somebody,
      run: `run ${pid}`,
      warn: (text) => warnings.push(text),
      ...options,
    });
  const manager = managerOf(1);
  const save = (epochs: number, by = manager) => by.save(part, { counters: { epochs } });
  const names = () =>
    files.paths().filter((path) => path.split("/").length === 4 && !path.includes("/.lock-"));
  return { files, warnings, running, manager, managerOf, save, names };
}

/** Changes one file of a checkpoint. */
function alter(files: FaultyFiles, path: string, change: (bytes: Uint8Array) => Uint8Array): void {
  const node = files.file(`${root}/${path}`);
  node.data = change(Uint8Array.from(node.data));
}
const flip = (at: number) => (bytes: Uint8Array) => {
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  return bytes;
};

describe("faults while saving", () => {
  it("no space left: a clear error, nothing half-written, older ones untouched, and it works again with space", async () => {
    const { files, manager, save, names } = setUp();
    const first = await save(1);
    files.space = 30_000;
    await expect(save(2)).rejects.toThrow(/no space is left.*STORE_FULL.*those there are untouched/s);
    expect(names()).toEqual([first.path]);
    expect(await manager.verify(first.name)).toEqual([]);
    files.space = Number.POSITIVE_INFINITY;
    const second = await save(2);
    expect((await manager.latest())?.name).toBe(second.name);
    expect(second.manifest.sequence).toBe(2);
  });

  it("no space anywhere within a save: always the same", async () => {
    for (let space = 0; space < 17_000; space += 1000) {
      const { files, save, names } = setUp();
      files.space = space;
      await expect(save(1)).rejects.toMatchObject({ code: "STORE_FULL" });
      expect(names()).toEqual([]);
    }
  });

  it("a read-only directory: a clear error, and what is there can be read", async () => {
    const { files, manager, managerOf, save } = setUp();
    const { name } = await save(1);
    await manager.close();
    files.readOnly = true;
    await expect(save(2, managerOf(2))).rejects.toThrow(/may not be written to.*STORE_READ_ONLY/s);
    expect((await managerOf(2).latest())?.name).toBe(name);
  });

  it("short writes are gone on with", async () => {
    const { files, manager, save } = setUp();
    files.mostAtOnce = 700;
    const { name } = await save(1);
    expect(await manager.verify(name)).toEqual([]);
  });

  it("one write at a time; the failure of one is its caller's, and the next is written", async () => {
    const { files, manager, save } = setUp();
    files.space = 10_000;
    const failing = save(1);
    const failed = expect(failing).rejects.toMatchObject({ code: "STORE_FULL" });
    const second = failing.catch(() => {
      files.space = Number.POSITIVE_INFINITY;
    });
    await second;
    const [a, b] = await Promise.all([save(2), save(3)]);
    await failed;
    expect(manager.busy).toBe(false);
    expect([a.manifest.sequence, b.manifest.sequence]).toEqual([1, 2]);
  });
});

describe("a damaged checkpoint is found and passed over, with a warning", () => {
  const file = "epoch-0002-update-000000/part.safetensors";
  const shared = "epoch-0002-update-000000/values.bin";
  it.each<[string, string, (bytes: Uint8Array) => Uint8Array, RegExp]>([
    ["a flipped bit in the data", file, flip(9000), /was altered: its hash does not fit/],
    ["a flipped bit in the header", file, flip(20), /header cannot be read|altered/],
    ["a flipped bit in a shared file", shared, flip(20), /values\.bin \(component "rest"\): it was altered/],
    [
      "a truncated shared file",
      shared,
      (bytes) => bytes.slice(0, -1),
      /"rest", "more"\): it has \d+ bytes of \d+/,
    ],
    [
      "more bytes in a shared file",
      shared,
      (b) => Uint8Array.of(...b, 0),
      /"rest", "more"\): it has \d+ bytes of \d+/,
    ],
    ["a flipped bit in the manifest", "epoch-0002-update-000000/manifest.json", flip(100), /manifest\.json/],
    ["a truncated file", file, (bytes) => bytes.slice(0, 500), /500 bytes of \d+/],
    ["an empty file", file, () => new Uint8Array(), /0 bytes of/],
    ["a truncated manifest", "epoch-0002-update-000000/manifest.json", (b) => b.slice(0, 90), /not JSON/],
  ])("%s", async (_name, path, change, message) => {
    const { files, manager, save, warnings } = setUp();
    await save(1);
    await save(2);
    alter(files, path, change);
    expect((await manager.latest())?.manifest.counters.epochs).toBe(1);
    expect(warnings).toEqual([expect.stringMatching(/epoch-0002-update-000000 is passed over/)]);
    const problems = await manager.verify("epoch-0002-update-000000");
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems[0]).toContain(path);
  });

  it("every single flipped bit of a file is found", async () => {
    const { files, manager } = setUp();
    const tiny = {
      part: new Holder({ w: put([1, 2], { engine: "wasm" }), n: 1 }),
      rest: new Holder({ w: Float32Array.of(1, 2), n: 1 }),
      more: new Holder(1),
    };
    const { name } = await manager.save(tiny, { counters: {} });
    for (const path of ["part.safetensors", "values.bin", "manifest.json"].map((file) => `${name}/${file}`)) {
      const { length } = files.file(`${root}/${path}`).data;
      for (let at = 0; at < length; at += 7) {
        alter(files, path, flip(at));
        // Spaces between the manifest's entries carry nothing: flipped, they are no JSON.
        expect(await manager.verify(name), `${path}, byte ${at}`).not.toEqual([]);
        alter(files, path, flip(at));
      }
    }
    expect(await manager.verify(name)).toEqual([]);
  });

  it.each([file, shared])("a missing file, %s", async (path) => {
    const { files, manager, save, warnings } = setUp();
    await save(1);
    await save(2);
    await files.fs.remove(`${root}/${path}`);
    expect((await manager.latest())?.manifest.counters.epochs).toBe(1);
    expect(warnings.join().match(/its file is missing/g)).toHaveLength(1);
  });

  it("is not restored from: nothing is changed", async () => {
    const { files, manager, save } = setUp();
    const { name } = await save(1);
    alter(files, `${name}/values.bin`, flip(20));
    const here = { part: new Holder({ w }), rest: new Holder([0]), more: new Holder(new Float32Array(2)) };
    await expect(manager.restore(here, await manager.load(name))).rejects.toMatchObject({
      code: "CHECKPOINT_DAMAGED",
    });
    expect(here.rest.state).toEqual([0]);
  });

  it("a manifest of a newer version is a clear error", async () => {
    const { files, manager, save } = setUp();
    const { name } = await save(1);
    alter(files, `${name}/manifest.json`, (bytes) =>
      new TextEncoder().encode(
        new TextDecoder()
          .decode(bytes)
          .replace('"version": 2', '"version": 7')
          .replace(/"checksum": .*/, '"checksum": "computed in another way"'),
      ),
    );
    await expect(manager.load(name)).rejects.toThrow(
      /format version 7.*reads up to 2.*CHECKPOINT_NEWER.*newer espalier/s,
    );
    await save(1);
    // Going on from another would be a second run beside the one that a newer Espalier trained.
    await expect(manager.latest()).rejects.toMatchObject({ code: "CHECKPOINT_NEWER" });
  });
});

describe("two processes on one directory", () => {
  it("the second gets a clear refusal and may read", async () => {
    const { manager, managerOf, save } = setUp();
    const { name } = await save(1);
    const other = managerOf(2);
    await expect(other.open()).rejects.toThrow(/is in use by process 1 on here \(run 1\).*STORE_LOCKED/s);
    expect((await other.latest())?.name).toBe(name);
    await manager.close();
    await expect(other.open()).resolves.toBeUndefined();
  });

  it("a second manager of the same process is refused", async () => {
    const { manager, managerOf } = setUp();
    await manager.open();
    await expect(managerOf(1).open()).rejects.toThrow(/in use by this process already/);
  });

  it("the lock of a process that has ended is taken over", async () => {
    const { manager, managerOf, running, files } = setUp();
    await manager.open();
    running.delete(1);
    await managerOf(2).open();
    expect(files.paths().filter((path) => path.includes(".lock-"))).toEqual([
      expect.stringContaining(".lock-2-"),
    ]);
  });

  it("the lock of another machine is not, unless it is said so", async () => {
    const { manager, managerOf, files } = setUp();
    await manager.open();
    await expect(managerOf(2, "there").open()).rejects.toThrow(/process 1 on here.*takeOver: true/s);
    const store = localStore(root, {
      fs: files.fs,
      processes: processOf(2, new Set([2]), "there"),
      takeOver: true,
    });
    await expect(new CheckpointManager({ store }).open()).resolves.toBeUndefined();
  });

  it("of many that come at once, one or none gets in", async () => {
    const { managerOf, running, files } = setUp();
    const pids = [11, 12, 13, 14, 15];
    for (const pid of pids) running.add(pid);
    const got = await Promise.allSettled(pids.map((pid) => managerOf(pid).open()));
    const winners = got.filter(({ status }) => status === "fulfilled").length;
    expect(winners).toBeLessThanOrEqual(1);
    expect(files.paths().filter((path) => path.includes(".lock-"))).toHaveLength(winners);
  });
});

describe("a clock that goes backwards", () => {
  it("does not confuse latest", async () => {
    const clock = manualClock(Date.UTC(2030, 0));
    const { manager, save } = setUp({ clock });
    await save(1);
    clock.advance(-365 * 24 * 3600 * 1000);
    const second = await save(2);
    expect(second.manifest.savedAt).toMatch(/^2029/);
    expect((await manager.latest())?.name).toBe(second.name);
  });

  it("nor does a run that went back to an earlier checkpoint", async () => {
    const { manager, managerOf, save } = setUp();
    for (const epoch of [1, 2, 3]) await save(epoch);
    await manager.close();
    const resumed = managerOf(2);
    const again = await save(2, resumed);
    expect(again.name).toBe("epoch-0002-update-000000-2");
    expect((await resumed.latest())?.name).toBe(again.name);
  });
});
