import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { every } from "../../schedule/index.ts";
import { CheckpointManager, localStore } from "../index.ts";
import { checkpointHook } from "./checkpoint-hook.ts";
import { countingHook, hashesOf, temporaryDirectory, trainerOf } from "./runs.test-support.ts";

const script = fileURLToPath(new URL("./interrupted.test-support.ts", import.meta.url));

describe("a run in another process that is interrupted", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("by %s saves where it is, and goes on from there", async (signal, exitCode) => {
    const directory = temporaryDirectory();
    const child = spawn(process.execPath, ["--import", "tsx", script, directory], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      if (line === "training") child.kill(signal);
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code).toBe(exitCode);
    const batches = Number(/^interrupted (\d+)$/.exec(lines.at(-1) ?? "")?.[1]);
    expect(batches).toBeGreaterThanOrEqual(5);
    const newest = await new CheckpointManager({ store: localStore(directory) }).latest();
    expect(newest?.manifest.counters.batches).toBe(batches);

    const made = (where: string) =>
      trainerOf(
        [
          checkpointHook({ directory: where, schedule: every({ updates: 7 }) }),
          countingHook("counts"),
          { name: "reporter", onBatchEnd: () => {} },
        ],
        { epochs: Number.POSITIVE_INFINITY, maxUpdates: batches + 9 },
      ).trainer;
    const [whole, resumed] = [made(temporaryDirectory()), made(directory)];
    await whole.train();
    await resumed.train();
    expect(await hashesOf(resumed)).toEqual(await hashesOf(whole));
  });
});
