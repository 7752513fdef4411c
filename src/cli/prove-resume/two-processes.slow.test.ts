import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { testDirectory } from "../checkpoint/checkpoints.test-support.ts";
import type { PartRequest } from "./process.ts";
import { startPart } from "./process.ts";

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const program = [process.execPath, "--import", "tsx", main] as const;
const { path } = testDirectory();

it("lets one process train in a run directory: a second is refused, and may go on once the first is gone", {
  timeout: 300_000,
}, async () => {
  const file = path("setup.mjs");
  writeFileSync(
    file,
    `export const setup = () => ({
      config: { epochs: 2, name: "the first" },
      task: {
        components: {},
        sampleUnit: "examples",
        stepUnit: "updates",
        ramps: {},
        epoch: () => [
          { phase: "train", repeats: 3, adds: { updates: 1, samples: 1 }, fusesWithNext: false, maxFuse: 1 },
        ],
        run: () => ({ metrics: {} }),
        snapshot: () => ({ components: {} }),
      },
    });`,
  );
  const start = (what: string, more: Partial<PartRequest> = {}) => {
    const checkpoints = { directory: path("run"), at: [1, 2, 3, 4] };
    return startPart(
      program,
      what,
      { file, checkpoints, endState: path("end"), ...more },
      { ESPALIER_ENGINE: "wasm" },
    );
  };
  const first = start("the first", { pauseAt: 4 });
  await first.told("paused");
  await expect(start("the second").done).rejects.toThrow(
    new RegExp(
      `the second: .*run is in use by process ${first.pid} on .*\\(the first\\).*STORE_LOCKED.*stop it`,
      "s",
    ),
  );
  expect(await first.kill()).toBe(true);
  const { resumedAt, course } = await start("the third").done;
  expect([3, 4]).toContain(resumedAt); // The fourth may not have been whole.
  expect(course.batches).toBe(6);
});
