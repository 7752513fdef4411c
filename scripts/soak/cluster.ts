import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { natsEvaluations, natsTransport, startNatsServer } from "../../src/cluster/index.ts";
import { ppo } from "../../src/doors/rl.ts";
import { checkpointHook, never, np, optim, put, type Tensor, Trainer, type Value } from "../../src/index.ts";
import { type Rollout, rolloutTask, type Transport } from "../../src/rollout/index.ts";
import { noCounters } from "../../src/schedule/index.ts";
import { points, slope } from "./line-worker.ts";
import { makeMachines } from "./machines.ts";
import { seeded } from "./random.ts";
import { acknowledgedIn, check, within } from "./workers.ts";

export interface ClusterSoakOptions {
  /** Kills of workers and evaluators with SIGKILL. */
  readonly kills: number;
  /** Kills of the server with SIGKILL, after each of which it is started again. */
  readonly restarts: number;
  /** Seconds for which half of the machines are cut off. 0: never, and no network namespaces are needed. */
  readonly partition: number;
  /** Decides what is killed, and when. */
  readonly seed: number;
  /** Workers, on two machines. Default: 4. */
  readonly workers?: number;
  /** An empty directory for all that is written. */
  readonly directory: string;
  readonly say?: (line: string) => void;
}

/** What a soak counted. */
export interface ClusterSoakCounts {
  readonly kills: number;
  readonly restarts: number;
  readonly updates: number;
  readonly acknowledged: number;
  readonly taken: number;
  /** Deliveries that came again and were dropped. */
  readonly duplicates: number;
  /** Rollouts of machines that had been cut off, after they were connected again. */
  readonly afterPartition: number;
  readonly evaluations: number;
  readonly distance: number;
}

/** Seconds without a rollout after which training is stuck: more than a partition and a lease take together. */
const patience = 180;

/**
 * Trains over a NATS server while workers, evaluators and the server are killed and machines are cut off. Throws where
 * training or an evaluation does not come to its end, where a rollout is lost after it was acknowledged, and where one
 * is taken twice.
 */
export async function soakCluster(options: ClusterSoakOptions): Promise<ClusterSoakCounts> {
  const { kills, restarts, partition, seed, directory, workers = 4, say = () => undefined } = options;
  const random = seeded(seed);
  const machines = partition > 0 ? makeMachines(2) : undefined;
  const host = machines?.address ?? "127.0.0.1";
  const place = { directory: join(directory, "server"), host } as const;
  let server = await startNatsServer({ ...place, port: 0 });
  const { port, token = "" } = server;
  const servers = `nats://${host}:${port}`;
  const connection = { servers, token, run: "soak", warn: say };

  // Processes, each of which is started again when it ends.
  const slots: { readonly kind: "worker" | "evaluator"; readonly machine: number; child: ChildProcess }[] =
    [];
  let running = true;
  const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
  const start = (kind: "worker" | "evaluator", machine: number): ChildProcess => {
    const [program = "", ...words] = [
      ...(machines?.on(machine) ?? []),
      ...[process.execPath, ...process.execArgv, main, kind, "--run", "soak"],
      ...(kind === "worker" ? ["--name", `m${machine}`] : []),
    ];
    const env = { ...process.env, NATS_URL: servers, NATS_TOKEN: token, ESPALIER_ENGINE: "wasm" };
    const child = spawn(program, words, { stdio: ["ignore", "ignore", "pipe"], env });
    let said = "";
    child.stderr.on("data", (text) => {
      said = (said + text).slice(-2000);
    });
    child.on("exit", (code, signal) => {
      if (!running) return;
      if (signal !== "SIGKILL") say(`${kind} ended by itself (${code ?? signal}): ${said.trim()}`);
      const slot = slots.find((one) => one.child === child);
      if (slot) slot.child = start(kind, machine);
    });
    return child;
  };
  for (let i = 0; i < workers; i++)
    slots.push({ kind: "worker", machine: i % 2, child: start("worker", i % 2) });
  for (let i = 0; i < 2; i++) slots.push({ kind: "evaluator", machine: 1, child: start("evaluator", 1) });

  const taken: Rollout[] = [];
  const nats = natsTransport({
    ...connection,
    capacity: 4,
    module: "scripts/soak/line-worker.ts",
    options: { directory: join(directory, "acknowledged") },
  });
  const take = async (waiting?: { readonly signal?: AbortSignal }): Promise<Rollout | undefined> => {
    const rollout = await within(patience, nats.take(waiting));
    if (rollout) taken.push(rollout);
    return rollout;
  };
  const transport: Transport = {
    publish: (weights) => nats.publish(weights),
    take,
    get stats() {
      return nats.stats;
    },
    close: () => nats.close(),
  };

  type Batch = { readonly x: Value; readonly y: Value };
  const task = rolloutTask({
    init: (_, where) => ({ w: put(new Float32Array(slope.length), { ...where, shape: [slope.length] }) }),
    forward: ({ w }, { x }: Batch) => np.sum(np.multiply(x, w as Value), { axis: 1 }),
    losses: [
      { name: "squares", term: ({ batch, outputs }) => ({ loss: np.mean(np.square(outputs.sub(batch.y))) }) },
    ],
    optimizer: optim.adam({ learningRate: 0.05 }),
    ...{ transport, rollouts: 4, batchSize: 4 * points, engine: "wasm" },
  });

  const checkpoint = await checkpointIn(join(directory, "checkpoints"));
  const queue = natsEvaluations(connection);
  let [killed, restarted, submitted, afterPartition] = [0, 0, 0, 0];
  let state: "whole" | "cut off" | "connected again" = partition > 0 ? "whole" : "connected again";

  /** Everything that goes wrong, one thing after the other, while training goes on. */
  async function disturb(): Promise<void> {
    // All have to be there first.
    while (nats.stats.workers < workers || taken.length < 20) await pause(100);
    const total = kills + restarts;
    for (let i = 0; i < total; i++) {
      await pause(random() * 2000);
      const left = total - i;
      if (random() < (restarts - restarted) / left) {
        await server.kill();
        await pause(random() * 1500);
        server = await startNatsServer({ ...place, port });
        say(`server killed and started again, ${++restarted} of ${restarts}`);
      } else if (killed < kills) {
        const slot = slots[Math.floor(random() * slots.length)];
        slot?.child.kill("SIGKILL");
        say(`kill ${++killed} of ${kills}: a ${slot?.kind} on machine ${slot?.machine}`);
      }
      if (i === Math.floor(total / 2) && partition > 0) {
        machines?.connect(0, false);
        state = "cut off";
        say(`machine 0 is cut off for ${partition} s`);
        await pause(partition * 1000);
        machines?.connect(0, true);
        state = "connected again";
        const from = taken.length;
        while (!taken.slice(from).some(({ worker }) => worker.startsWith("m0-"))) await pause(200);
        afterPartition = taken.slice(from).filter(({ worker }) => worker.startsWith("m0-")).length;
      }
      if (i % 5 === 0) {
        const counters = { ...noCounters, steps: submitted };
        await queue.submit({
          ...{ id: `job-${submitted}`, checkpoint, run: "soak", step: submitted, counters },
          ...{ suites: { all: { env: "CartPole-v1" } }, episodes: 3, seed: submitted, deterministic: true },
        });
        submitted++;
      }
    }
  }

  const trainer = new Trainer({ task, config: { epochs: 1_000_000, seed, validate: never() } });
  try {
    const training = trainer.train();
    await Promise.race([disturb(), training]);
    if (state !== "connected again") throw new Error("training ended before everything went wrong");
    const results = await queue.results("soak", { wait: true, signal: AbortSignal.timeout(patience * 1000) });
    const failures = results.filter(({ failure }) => failure).map(({ failure }) => failure?.message);
    if (results.length !== submitted || failures.length > 0)
      throw new Error(
        `${results.length} of ${submitted} evaluations came back; failures: ${failures.join("; ")}`,
      );
    // Some more, with nothing going wrong.
    const target = task.counts.rollouts + 300;
    while (task.counts.rollouts < target) await pause(100);
    trainer.stop("the soak is over");
    const { counters, outcome } = await training;
    if (outcome !== "stopped") throw new Error(`training ended as ${outcome}`);
    running = false;
    await Promise.all(slots.map(({ child }) => ended(child)));
    const acknowledged = acknowledgedIn(join(directory, "acknowledged"));
    const missing = (): readonly string[] => {
      const ids = new Set(taken.map(({ id }) => id));
      return acknowledged.filter((id) => !ids.has(id));
    };
    while (missing().length > 0 && (await take({ signal: AbortSignal.timeout(40_000) })));
    check(
      taken.map(({ id }) => id),
      acknowledged,
      0,
    );
    const found = await (task.params.w as Tensor).read();
    const distance = Math.hypot(...slope.map((each, i) => each - (found[i] as number)));
    if (distance > 0.05) throw new Error(`training ended ${distance} from the line`);
    return {
      ...{ kills: killed, restarts: restarted, updates: counters.updates, acknowledged: acknowledged.length },
      ...{ taken: taken.length, duplicates: nats.stats.duplicates, afterPartition },
      ...{ evaluations: submitted, distance },
    };
  } finally {
    running = false;
    for (const { child } of slots) child.kill("SIGKILL");
    await queue.close().catch(() => undefined);
    await task.close().catch(() => undefined);
    await nats.close().catch(() => undefined);
    await server.stop();
    machines?.remove();
  }
}

/** Asks a process to leave, and waits until it has. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  await within(60, exit);
}

/** The address of a small policy's checkpoint. */
async function checkpointIn(directory: string): Promise<string> {
  await ppo({ env: "CartPole-v1", seed: 1 }).train({
    steps: 512,
    hooks: [checkpointHook({ directory })],
  });
  const [name = ""] = readdirSync(directory).filter((one) => one.startsWith("epoch-"));
  return pathToFileURL(join(directory, name)).href;
}
