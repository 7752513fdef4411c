// Trains over a real NATS server while workers, evaluators and the server itself are killed and machines are cut off,
// and counts every rollout: `npm run soak:cluster -- --kills 100 --restarts 10 --partition 30`. Exit code 1, with what
// was wrong, where a rollout is lost after it was acknowledged or taken twice, an evaluation does not come back, or
// training does not go on by itself. A partition needs root and iproute2 (network namespaces are the machines).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installNatsServer } from "../src/cluster/index.ts";
import { soakCluster } from "./soak/cluster.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    restarts: { type: "string", default: "10" },
    partition: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
    quiet: { type: "boolean", default: false },
  },
});
const [kills, restarts, partition, seed] = [values.kills, values.restarts, values.partition, values.seed].map(
  Number,
) as [number, number, number, number];
if (![kills, restarts, partition, seed].every((number) => Number.isSafeInteger(number) && number >= 0)) {
  console.error(
    "usage: npm run soak:cluster -- --kills 100 --restarts 10 --partition 30 [--seed 1] [--quiet]",
  );
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), "espalier-soak-"));
const start = performance.now();
try {
  await installNatsServer();
  const counts = await soakCluster({
    ...{ kills, restarts, partition, seed, directory },
    say: values.quiet ? () => undefined : console.log,
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`${counts.kills} kills of workers and evaluators, ${counts.restarts} of the server, machines cut off for ${partition} s; ${seconds} s in all (seed ${seed})
${counts.acknowledged} rollouts were acknowledged, and ${counts.taken} taken, each once; ${counts.duplicates} came again and were dropped; ${counts.afterPartition} soon after the partition from machines that were cut off
${counts.evaluations} evaluations, each with its result; ${counts.updates} updates; the line was found to ${counts.distance.toFixed(4)}`);
} catch (error) {
  console.error(`soak: FAILED (seed ${seed}): ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit();
