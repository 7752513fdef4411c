// Kills worker processes at random moments while a trainer learns from their rollouts, and counts every rollout:
// `npm run soak:workers -- --kills 100`. Exit code 1, with what was wrong, where a rollout is lost after it was
// acknowledged, or taken twice, or training does not come to its end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { soakWorkers } from "./soak/workers.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    workers: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    quiet: { type: "boolean", default: false },
  },
});
const [kills, workers, seed] = [Number(values.kills), Number(values.workers), Number(values.seed)];
if (![kills, workers, seed].every((number) => Number.isSafeInteger(number) && number > 0)) {
  console.error("usage: npm run soak:workers -- --kills 100 [--workers 3] [--seed 1] [--quiet]");
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), "espalier-soak-"));
const start = performance.now();
try {
  const counts = await soakWorkers({
    ...{ kills, workers, seed, directory },
    say: values.quiet ? () => undefined : console.log,
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`${counts.kills} kills of ${workers} workers in ${seconds} s (seed ${seed}):
  ${counts.starting} while the process was starting, ${counts.full} while the trainer's queue was full; ${counts.replaced} replaced
${counts.acknowledged} rollouts were acknowledged; ${counts.taken} taken, each once, and ${counts.left} in the queue at the end
${counts.updates} updates, all that were to be done; the line was found to ${counts.distance.toFixed(4)}`);
} catch (error) {
  console.error(`soak: FAILED (seed ${seed}): ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
