// Kills training again and again at random moments and looks at what is left: `npm run soak:kills -- --kills 200`.
// Exit code 1, with what was wrong, where a checkpoint is damaged or lost, files pile up, or a resumed run ends with
// other bits than an uninterrupted one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { engine as engineOf } from "../src/index.ts";
import { soakKills } from "./soak/kills.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    engine: { type: "string" },
    quiet: { type: "boolean", default: false },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
const engine = values.engine ?? engineOf().name;
if (
  !(Number.isSafeInteger(kills) && kills > 0) ||
  !Number.isSafeInteger(seed) ||
  !["wasm", "xla"].includes(engine)
) {
  console.error("usage: npm run soak:kills -- --kills 200 [--seed 1] [--engine wasm|xla] [--quiet]");
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), "espalier-soak-"));
const start = performance.now();
try {
  const counts = await soakKills({
    ...{ kills, seed, engine: engine as "wasm" | "xla", directory },
    say: values.quiet ? () => undefined : console.log,
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`${counts.kills} kills on ${engine} in ${seconds} s (seed ${seed}):
  ${counts.inFlight} while a checkpoint was being written or removed
  ${counts.beforeTraining} while the process was starting or restoring
  ${counts.beforeFirst} before there was any checkpoint
after each a whole newest checkpoint, nothing lost, at most ${counts.mostStrays} stray names, removed by the next start
${counts.resumes} resumes, each from the newest checkpoint; ${counts.written} checkpoints written
${counts.completed} runs came to their end, each bit for bit like the uninterrupted one`);
} catch (error) {
  console.error(`soak: FAILED (seed ${seed}): ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
