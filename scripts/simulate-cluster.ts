// Simulates runs with many workers on a faulty network in virtual time, one for each seed:
// `npm run simulate:cluster -- --seeds 1000 --workers 1000`. Exit code 1, with the command that repeats it, where a
// rollout is lost or taken twice, weights are mixed, a run does not go on after its faults, or two runs of a seed differ.
import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  type SimulatedRunOptions,
  type SimulatedRunResult,
  simulateRun,
} from "../src/cluster/simulated-run.test-support.ts";

/** What a process of simulations answers. */
type Answer = { readonly result: SimulatedRunResult } | { readonly seed: number; readonly failure: string };

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    workers: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    processes: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string" },
    log: { type: "boolean", default: false },
    serve: { type: "boolean", default: false },
  },
});
const [seeds, workers, from, processes, seed] = [
  values.seeds,
  values.workers,
  values.from,
  values.processes,
  values.seed ?? "1",
].map(Number) as [number, number, number, number, number];
if (![seeds, workers, processes, from, seed].every((one) => Number.isSafeInteger(one) && one > 0)) {
  console.error(
    "usage: npm run simulate:cluster -- [--seeds 1000] [--workers 1000] [--from 1] [--processes 2]\n" +
      "       npm run simulate:cluster -- --seed 17 [--workers 1000] [--log]",
  );
  process.exit(2);
}

if (values.serve) serve();
else if (values.seed !== undefined) await runOne();
else await runAll();

/** Runs one seed here, for who looks at a failure. */
async function runOne(): Promise<void> {
  try {
    const result = await simulateRun({ seed, workers, ...(values.log && { log: console.log }) });
    console.log(result);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}

/** Runs the seeds that the parent asks for. */
function serve(): void {
  const run = async (options: SimulatedRunOptions): Promise<Answer> => {
    try {
      return { result: await simulateRun(options) };
    } catch (error) {
      return {
        seed: options.seed,
        failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
      };
    }
  };
  process.on("message", async (options: SimulatedRunOptions) => process.send?.(await run(options)));
}

async function runAll(): Promise<void> {
  const start = performance.now();
  const results = new Map<number, SimulatedRunResult>();
  const failed = new Set<number>();
  // Every tenth seed is run a second time, later and perhaps in another process: it must be the same.
  const all = Array.from({ length: seeds }, (_, i) => from + i);
  const waiting = [...all, ...all.filter((one) => one % 10 === 3)];
  let repeated = 0;
  const fail = (seed: number, why: string): void => {
    if (failed.has(seed)) return;
    failed.add(seed);
    console.log(`seed ${seed}: FAILED: ${why}
  again, with a log: npm run simulate:cluster -- --seed ${seed} --workers ${workers} --log`);
  };
  const take = (answer: Answer): void => {
    if ("failure" in answer) fail(answer.seed, answer.failure);
    else {
      const { result } = answer;
      const before = results.get(result.seed);
      if (before) repeated++;
      if (before && before.hash !== result.hash) fail(result.seed, `${before.hash} and then ${result.hash}`);
      results.set(result.seed, result);
      if (!before && results.size % 100 === 0)
        console.log(`${results.size} of ${seeds} seeds after ${seconds(start)} s`);
    }
  };
  const servers = Array.from({ length: Math.min(processes, seeds) }, () =>
    fork(fileURLToPath(import.meta.url), ["--serve"]),
  );
  await Promise.all(servers.map((server) => work(server, waiting, take)));
  report([...results.values()], { failed: failed.size, repeated, start });
  if (failed.size > 0 || results.size + failed.size < seeds) process.exitCode = 1;
}

/** Gives a process one seed after the other. */
async function work(server: ChildProcess, waiting: number[], take: (answer: Answer) => void): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const answer = await new Promise<Answer>((resolve, reject) => {
      server.once("message", (message: Answer) => resolve(message));
      server.once("exit", (code) => reject(new Error(`a process of simulations ended with ${code}`)));
      server.send({ seed: next, workers });
    });
    server.removeAllListeners();
    take(answer);
  }
  server.disconnect();
}

function seconds(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(0);
}

function report(
  results: readonly SimulatedRunResult[],
  { failed, repeated, start }: { readonly failed: number; readonly repeated: number; readonly start: number },
): void {
  const sum = (of: (one: SimulatedRunResult) => number): number =>
    results.reduce((all, one) => all + of(one), 0);
  const most = (of: (one: SimulatedRunResult) => number): number => Math.max(0, ...results.map(of));
  const kinds = new Map<string, number>();
  for (const { faults } of results)
    for (const kind of faults.length === 0 ? ["none"] : faults) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  console.log(`${results.length} runs of ${workers} workers in ${seconds(start)} s, ${failed} failed
  ${sum((one) => one.acknowledged)} rollouts acknowledged; ${sum((one) => one.taken)} taken, none twice by one trainer; ${sum((one) => one.duplicates)} came again and were dropped
  ${sum((one) => one.killed)} kills; ${sum((one) => one.unconnected)} processes started anew that had not reached the server; ${sum((one) => one.server.unanswered)} requests without an answer
  at most ${most((one) => one.recovery).toFixed(1)} s from the last fault to the end of two more epochs
  ${sum((one) => one.epochs)} epochs in ${(sum((one) => one.seconds) / 3600).toFixed(1)} hours of virtual time, ${sum((one) => one.events)} events
  ${repeated} seeds ran twice, with the same hash each
  faults: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(", ")}`);
}
