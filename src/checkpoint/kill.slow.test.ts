import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { localStore } from "./index.ts";
import { CheckpointManager } from "./manager.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-kill-"));
afterAll(() => rmSync(folder, { recursive: true }));
const saver = fileURLToPath(new URL("saver.test-support.ts", import.meta.url));

/** Lets a process save from an epoch on and kills it in its second save, after so many turns of the event loop. */
function saveAndKill(
  from: number,
  turns: number,
): Promise<{ readonly begun: number; readonly ended: number }> {
  const child = spawn(process.execPath, ["--import", "tsx", saver, folder, String(from)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  let left = turns;
  const kill = (): void => void (left-- > 0 ? setImmediate(kill) : child.kill("SIGKILL"));
  child.stdout.on("data", (chunk: Buffer) => {
    const before = text;
    text += chunk.toString();
    const mark = `begin ${from + 1}\n`;
    if (text.includes(mark) && !before.includes(mark)) kill();
  });
  const last = (word: string): number =>
    Number([...text.matchAll(new RegExp(`${word} (\\d+)`, "g"))].at(-1)?.[1] ?? 0);
  return new Promise((resolve) =>
    child.on("close", () => resolve({ begun: last("begin"), ended: last("end") })),
  );
}

it("a process that is killed while it saves leaves a whole newest checkpoint and nothing stray", async () => {
  let epoch = 1;
  for (const turns of [0, 200, 2000]) {
    const { begun, ended } = await saveAndKill(epoch, turns);
    expect(ended).toBeGreaterThanOrEqual(epoch);
    const manager = new CheckpointManager({ store: localStore(folder), keep: { last: 2 } });
    await manager.open();
    expect(readdirSync(folder).filter((name) => name.startsWith(".tmp"))).toEqual([]);
    const latest = await manager.latest();
    const found = latest?.manifest.counters.epochs ?? 0;
    // What was told to be saved is there; the one under way may be, and then it is whole.
    expect(found).toBeGreaterThanOrEqual(ended);
    expect(found).toBeLessThanOrEqual(begun);
    expect(await latest?.state("part")).toMatchObject({ epoch: found });
    await manager.close();
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
    epoch = found + 1;
  }
});
