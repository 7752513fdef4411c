import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Transport, workerProcesses } from "../../src/doors/rollout.ts";
import { np, optim, put, type Tensor, Trainer, type Value } from "../../src/index.ts";
import { rolloutTask } from "../../src/rollout/index.ts";
import { points, slope } from "./line-worker.ts";
import { seeded } from "./random.ts";

export interface WorkerSoakOptions {
  readonly kills: number;
  /** Decides which workers are killed, and when. */
  readonly seed: number;
  /** Worker processes. Default: 3. */
  readonly workers?: number;
  /** Workers write there what was acknowledged: an empty directory. */
  readonly directory: string;
  /** Seconds without a rollout after which training is stuck. Default: 120. */
  readonly patience?: number;
  readonly say?: (line: string) => void;
}

/** What a soak counted. */
export interface WorkerSoakCounts {
  readonly kills: number;
  /** Kills of processes that had not delivered anything yet, and kills while the trainer's queue was full. */
  readonly starting: number;
  readonly full: number;
  readonly replaced: number;
  /** Rollouts that workers had acknowledged, and those that the trainer took and that were in its queue at the end. */
  readonly acknowledged: number;
  readonly taken: number;
  readonly left: number;
  /** Updates of the training, and how far from the line it ended. */
  readonly updates: number;
  readonly distance: number;
}

/** Rollouts that wait for the trainer. */
const capacity = 4;
/** Epochs for each kill: it comes at a random moment of the first of them. */
const epochsPerKill = 3;
/** The share of kills that hit any process, those that are starting included; others hit one that has delivered. */
const anyShare = 0.2;

/**
 * Trains from the rollouts of worker processes and kills these at random moments. Throws where training does not come
 * to its end, and where a rollout was lost after it was acknowledged or was taken twice.
 */
export async function soakWorkers(options: WorkerSoakOptions): Promise<WorkerSoakCounts> {
  const { kills, seed, workers = 3, directory, patience = 120, say = () => undefined } = options;
  const random = seeded(seed);
  const pids = new Map<string, number>();
  const taken: string[] = [];
  const delivered = new Set<string>();
  const dead = new Set<string>();
  let [killed, starting, full] = [0, 0, 0];
  const processes = workerProcesses({
    module: new URL("./line-worker.ts", import.meta.url).href,
    ...{ options: { directory }, count: workers, capacity },
    started: (pid, name) => pids.set(name, pid),
  });

  /** Names of those who run now, of all or of those that have delivered. */
  const running = (among: (name: string) => boolean): readonly string[] =>
    [...pids]
      .filter(([name, pid]) => processes.pids.includes(pid) && !dead.has(name) && among(name))
      .map(([name]) => name);
  const kill = (any = random() < anyShare): void => {
    const found = running((name) => any || delivered.has(name));
    const name = found[Math.floor(random() * found.length)];
    if (name === undefined) return void setTimeout(kill, 20, any);
    process.kill(pids.get(name) as number, "SIGKILL");
    dead.add(name);
    killed++;
    if (!delivered.has(name)) starting++;
    if (processes.stats.queued === capacity) full++;
    say(`kill ${killed} of ${kills}: ${name}${delivered.has(name) ? "" : ", which was starting"}`);
  };

  const transport: Transport = {
    publish: (weights) => processes.publish(weights),
    take: async (waiting) => {
      const rollout = await within(patience, processes.take(waiting));
      if (!rollout) return rollout;
      taken.push(rollout.id);
      delivered.add(rollout.worker);
      return rollout;
    },
    get stats() {
      return processes.stats;
    },
    close: () => processes.close(),
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
  const epochs = kills * epochsPerKill + 300;
  let asked = 0;
  const trainer = new Trainer({
    task,
    config: { epochs, seed },
    hooks: [
      {
        name: "kills",
        onEpochStart: async ({ counters }) => {
          if (counters.epochs < (asked + 1) * epochsPerKill || asked === kills) return;
          asked++;
          setTimeout(() => kill(), random() * 50);
          // A trainer that is busy meanwhile, so that workers wait for room in its queue.
          if (random() < 0.5) await pause(60);
        },
      },
    ],
  });
  try {
    const { outcome, counters } = await trainer.train();
    if (outcome !== "completed") throw new Error(`training ended as ${outcome}, after ${killed} kills`);
    // Kills that found nobody while training came to its end.
    while (killed < asked) await transport.take();
    const found = await (task.params.w as Tensor).read();
    const distance = Math.hypot(...slope.map((each, i) => each - (found[i] as number)));
    await transport.close();
    const { accepted, queued, duplicates, replaced } = processes.stats;
    const acknowledged = acknowledgedIn(directory);
    check(taken, acknowledged, queued);
    if (accepted !== taken.length + queued || duplicates > 0)
      throw new Error(`${accepted} accepted, ${taken.length} taken, ${queued} left, ${duplicates} twice`);
    const { rollouts, stale, future, duplicates: again } = task.counts;
    if (future > 0 || again > 0 || rollouts + stale > taken.length)
      throw new Error(`the trainer counted ${JSON.stringify(task.counts)} of ${taken.length} rollouts`);
    if (distance > 0.05) throw new Error(`training ended ${distance} from the line`);
    return {
      ...{ kills: killed, starting, full, replaced, acknowledged: acknowledged.length, taken: taken.length },
      ...{ left: queued, updates: counters.updates, distance },
    };
  } finally {
    await processes.close();
  }
}

/** The rollout, unless it takes longer than so many seconds. */
export async function within<T>(seconds: number, rollout: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`training is stuck: no rollout for ${seconds} s`)),
      seconds * 1000,
    );
  });
  return Promise.race([rollout, stuck]).finally(() => clearTimeout(timer));
}

/** Ids that workers wrote down once they were acknowledged. */
export const acknowledgedIn = (directory: string): readonly string[] =>
  readdirSync(directory).flatMap((name) =>
    readFileSync(join(directory, name), "utf8").split("\n").slice(0, -1),
  );

/** Every rollout is taken once at most, and what was acknowledged was taken, but for the last, which are in the queue. */
export function check(taken: readonly string[], acknowledged: readonly string[], queued: number): void {
  const once = new Set(taken);
  if (once.size < taken.length)
    throw new Error(`taken twice: ${taken.filter((id, i) => taken.indexOf(id) < i).join(", ")}`);
  const missing = acknowledged.filter((id) => !once.has(id));
  if (missing.length > queued)
    throw new Error(
      `${queued} are in the queue, and of those that were acknowledged are missing: ${missing.join(", ")}`,
    );
}
