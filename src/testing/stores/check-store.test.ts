import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type CheckpointStore, localStore, memoryStore } from "../../checkpoint/index.ts";
import { checkStore } from "./check-store.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-stores-"));
afterAll(() => rmSync(folder, { recursive: true }));

const inMemory = new Map<string, CheckpointStore>();
function remembered(place: string): CheckpointStore {
  const known = inMemory.get(place) ?? memoryStore();
  inMemory.set(place, known);
  return known;
}

describe("the local store", () => {
  it.each(checkStore((place) => localStore(join(folder, place))))("$name", ({ run }) => run());
});

describe("the store in memory", () => {
  it.each(checkStore(remembered))("$name", ({ run }) => run());
});

describe("the suite", () => {
  it("finds a store that shows what is not committed", async () => {
    const leaky = (): CheckpointStore => {
      const store = memoryStore();
      const begun: string[] = [];
      return {
        ...store,
        list: async () => begun,
        lock: async (holder) => {
          const lock = await store.lock(holder);
          const begin = (name: string) => {
            begun.push(name);
            return lock.begin(name);
          };
          return { ...lock, begin };
        },
      };
    };
    const check = checkStore(leaky).find(({ name }) => name === "nothing is seen before commit");
    await expect(check?.run()).rejects.toThrow(/list before commit: \["one"\]/);
  });

  it("finds a store that two may write to", async () => {
    const check = checkStore(() => memoryStore()).find(({ name }) => name === "one at a time may write");
    await expect(check?.run()).rejects.toThrow(/a second lock was accepted/);
  });
});
