import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { put } from "../../engine/index.ts";
import { Holder } from "../fakes.test-support.ts";
import { CheckpointManager, type SavedCheckpoint } from "../index.ts";
import { localStore } from "./local-store.ts";
import { systemProcesses } from "./lock.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-local-"));
afterAll(() => rmSync(folder, { recursive: true }));
let folders = 0;
const newFolder = (): string => join(folder, String(folders++));

describe("processes", () => {
  it("know that this one runs, that an ended one does not, and nothing of other machines", async () => {
    const { self, isRunning } = systemProcesses();
    expect(isRunning(self)).toBe(true);
    expect(isRunning({ ...self, host: "elsewhere" })).toBeUndefined();
    const child = spawn(process.execPath, ["-e", ""]);
    await new Promise((resolve) => child.on("exit", resolve));
    expect(isRunning({ ...self, pid: child.pid ?? 0, start: null })).toBe(false);
  });

  it.runIf(process.platform === "linux")("tell a process from a later one of the same number", () => {
    const { self, isRunning } = systemProcesses();
    expect(isRunning({ ...self, start: "another boot:1" })).toBe(false);
  });
});

describe("the local store", () => {
  it("removes what killed writers left as it takes the lock, and says what", async () => {
    const directory = newFolder();
    mkdirSync(join(directory, ".tmp-epoch-0001-update-000001-999999999-abcdef"), { recursive: true });
    writeFileSync(join(directory, ".tmp-lock-999999999-abcdef"), "");
    writeFileSync(
      join(directory, ".lock-999999999-abcdef"),
      JSON.stringify({ ...systemProcesses().self, pid: 999999999 }),
    );
    writeFileSync(join(directory, ".hidden"), "mine");
    const lock = await localStore(directory).lock();
    expect([...lock.cleaned].sort()).toEqual([
      ".tmp-epoch-0001-update-000001-999999999-abcdef",
      ".tmp-lock-999999999-abcdef",
    ]);
    await lock.release();
    expect(readdirSync(directory)).toEqual([".hidden"]);
  });

  it("does not take a lock that it cannot read", async () => {
    const directory = newFolder();
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, ".lock-1-a"), "{");
    await expect(localStore(directory).lock()).rejects.toThrow(
      /cannot be read.*STORE_LOCKED.*delete that file/s,
    );
    expect(readdirSync(directory)).toEqual([".lock-1-a"]);
  });

  it.runIf(process.platform !== "win32").each([
    ["a pipe", (path: string) => void execFileSync("mkfifo", [path])],
    ["a directory", (path: string) => void mkdirSync(path)],
    ["a device behind a link", (path: string) => symlinkSync("/dev/zero", path)],
    [
      "a pipe behind a link",
      (path: string) => {
        execFileSync("mkfifo", [`${path}.pipe`]);
        symlinkSync(`${path}.pipe`, path);
      },
    ],
  ])(
    "opens regular files only: %s is damage, told with file and component, or a lock that stands",
    async (_, make) => {
      const manager = new CheckpointManager({ store: localStore(newFolder()) });
      const parts = { params: new Holder({ w: put([1, 2], { engine: "wasm" }) }) };
      const [one, two] = [1, 2].map((epochs) => manager.save(parts, { counters: { epochs } }));
      const { path, name } = (await one) as SavedCheckpoint;
      const other = (await two) as SavedCheckpoint;
      for (const file of [join(path, "params.safetensors"), join(other.path, "manifest.json")]) {
        rmSync(file);
        make(file);
      }
      const damage = { code: "CHECKPOINT_DAMAGED" };
      const checkpoint = await manager.load(name);
      await expect(manager.restore(parts, checkpoint)).rejects.toMatchObject(damage);
      await expect(checkpoint.state("params")).rejects.toThrow(
        /params\.safetensors.*component "params".*regular/s,
      );
      await expect(checkpoint.tensor("params", "w")).rejects.toMatchObject(damage);
      await expect(manager.load(other.name)).rejects.toThrow(/manifest\.json.*regular.*CHECKPOINT_DAMAGED/s);
      expect((await manager.verify(name)).concat(await manager.verify(other.name))).toHaveLength(2);
      expect(await manager.latest()).toBeUndefined();
      await manager.close();
      make(join(manager.store.location, ".lock-1-a"));
      await expect(manager.open()).rejects.toMatchObject({ code: "STORE_LOCKED" });
    },
  );

  it("refuses names that lead elsewhere", async () => {
    const store = localStore(newFolder());
    const lock = await store.lock();
    for (const name of ["../x", "", ".tmp-x", "a/b", "a b"])
      await expect(lock.begin(name)).rejects.toMatchObject({ code: "STORE_NAME" });
    await expect(store.open("../x")).rejects.toMatchObject({ code: "STORE_NAME" });
    await lock.release();
  });

  it("tells of a failure on the file thread at the next write or at the commit", async () => {
    const store = localStore(newFolder());
    const lock = await store.lock();
    const writer = await lock.begin("one");
    const [small, large, same] = [
      await writer.file("data"),
      await writer.file("data"),
      await writer.file("data"),
    ];
    await small.write(new Uint8Array(3));
    expect(await small.close()).toMatchObject({ bytes: 3 });
    await large.write(new Uint8Array(2 ** 21));
    expect(await large.close()).toMatchObject({ bytes: 2 ** 21 });
    await expect(same.write(new Uint8Array(2 ** 21))).rejects.toThrow(
      /creating .*data: EEXIST.*STORE_FAILED/s,
    );
    await expect(writer.commit()).rejects.toThrow(/committing .*one: EEXIST.*STORE_FAILED/s);
    await writer.abort();
    const two = await lock.begin("two");
    await (await two.file("data")).close();
    rmSync(join(store.location), { recursive: true });
    await expect(two.commit()).rejects.toMatchObject({ code: "FILE_MISSING" });
    await two.abort();
  });
});
