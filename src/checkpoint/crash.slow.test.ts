import { describe, expect, it } from "vitest";
import { firstDifference } from "../state/index.ts";
import { Holder, somebody } from "./fakes.test-support.ts";
import { localStore } from "./index.ts";
import { CheckpointManager } from "./manager.ts";
import { FaultyFiles, type Loss, processOf } from "./store/faulty-files.test-support.ts";

const root = "/runs/one";
const stateAt = (epoch: number) => ({ w: new Float32Array(2000).fill(epoch), epoch });
const computedBy = async () => somebody;

function managerOn(files: FaultyFiles, pid: number, warn: (text: string) => void = () => undefined) {
  const store = localStore(root, { fs: files.fs, processes: processOf(pid, new Set([pid])) });
  return new CheckpointManager({ store, keep: { last: 2 }, computedBy, warn });
}

const save = (manager: CheckpointManager, epoch: number) =>
  manager.save(
    { part: new Holder(stateAt(epoch)), rest: new Holder([epoch]) },
    { counters: { epochs: epoch } },
  );

/** A machine on which a process saved epochs 1 to 3, of which two were kept, and ended without a word. */
async function machine(): Promise<FaultyFiles> {
  const files = new FaultyFiles();
  await files.fs.makeDirectory("/runs");
  await files.fs.syncDirectory("/");
  const manager = managerOn(files, 1);
  for (const epoch of [1, 2, 3]) await save(manager, epoch);
  files.operations = 0;
  return files;
}

async function operationsOfSave(): Promise<number> {
  const files = await machine();
  await save(managerOn(files, 2), 4);
  return files.operations;
}

const strays = (files: FaultyFiles) =>
  files
    .paths()
    .filter((path) => path.split("/").length === 4 && !/epoch-\d+-update-\d+$|\.lock-3-/.test(path));

describe.each<Loss>(["kill", "power", "power, names kept"])(
  "a save that ends by %s at any operation",
  (loss) => {
    it("leaves a whole newest checkpoint, nothing stray after the next start, and a store that works", async () => {
      const operations = await operationsOfSave();
      expect(operations).toBeGreaterThan(40);
      const newest: number[] = [];
      for (let at = 1; at <= operations + 1; at++) {
        const files = await machine();
        files.crashAt = at;
        const saved = await save(managerOn(files, 2), 4).then(
          () => true,
          () => false,
        );
        files.restart(loss);

        const warnings: string[] = [];
        const next = managerOn(files, 3, (text) => warnings.push(text));
        await next.open();
        expect(strays(files), `stray files after operation ${at}`).toEqual([]);
        const latest = await next.latest();
        const epoch = latest?.manifest.counters.epochs ?? 0;
        newest.push(epoch);
        expect(saved ? [4] : [3, 4], `newest after operation ${at}`).toContain(epoch);
        const found = await latest?.state("part");
        expect(await firstDifference(found ?? null, stateAt(epoch))).toBeUndefined();
        expect((await next.list()).filter(({ problem }) => problem)).toEqual([]);
        expect(warnings.filter((text) => text.includes("passed over"))).toEqual([]);

        const again = await save(next, 5);
        expect(await next.verify(again.name)).toEqual([]);
        expect((await next.latest())?.name).toBe(again.name);
      }
      // The point of no return is passed once.
      expect(newest).toEqual([...newest].sort());
      expect(new Set(newest)).toEqual(new Set([3, 4]));
    });
  },
);

describe("a first save that is cut short", () => {
  it("leaves nothing, and the next start finds no checkpoint", async () => {
    for (let at = 1; ; at++) {
      const files = new FaultyFiles();
      files.crashAt = at;
      const saved = await save(managerOn(files, 1), 1).then(
        () => true,
        () => false,
      );
      files.restart("kill");
      const next = managerOn(files, 3);
      await next.open();
      expect(strays(files)).toEqual([]);
      expect(await next.latest().then((found) => found?.manifest.counters.epochs)).toBe(
        (await next.list()).length === 0 ? undefined : 1,
      );
      if (saved) break;
    }
  });
});
