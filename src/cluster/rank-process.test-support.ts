/** A process that trains as one of several ranks, or alone, as ranks.slow.test.ts starts it. It writes lines of JSON. */
import { checkpointHook } from "../checkpoint/index.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { every } from "../schedule/index.ts";
import { hashState } from "../state/index.ts";
import { supervisedTask } from "../supervised/index.ts";
import { type RankGroup, Trainer, type TrainerHook } from "../trainer/index.ts";
import { type RanksOptions, trainOnRanks } from "./ranks.ts";

export interface RankProcess {
  /** Undefined: it trains alone. */
  readonly ranks?: RanksOptions;
  readonly directory?: string;
  readonly engine: "wasm" | "xla";
  readonly epochs: number;
  /** Parts of an update. */
  readonly parts: number;
}

/** A line of such a process. */
export interface RankLine {
  readonly event: "ready" | "update" | "end" | "failed" | "said";
  readonly rank?: number;
  readonly ranks?: number;
  readonly updates?: number;
  readonly outcome?: string;
  readonly hashes?: Readonly<Record<string, string>>;
  readonly text?: string;
}

const options = JSON.parse(process.argv[2] as string) as RankProcess;
const say = (line: RankLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const warn = (text: string): void => say({ event: "said", text });

const rows = 256;
const data = {
  x: { data: Float32Array.from({ length: rows * 8 }, (_, i) => Math.sin(i * 12.9898)), shape: [rows, 8] },
  y: Int32Array.from({ length: rows }, (_, i) => (i * 7 + (i >> 2)) % 3),
};

async function train(ranks?: RankGroup): Promise<void> {
  const task = supervisedTask({
    model: nn.sequential([nn.dense(16), nn.relu, nn.dropout(0.2), nn.dense(3)]),
    optimizer: optim.adam({ learningRate: 0.01 }),
    data,
    loss: nn.crossEntropy,
    batchSize: 32 / options.parts,
    accumulate: options.parts,
    engine: options.engine,
    // Ranks do one update in a call, and XLA rounds Adam's numbers differently in a loop.
    maxFuse: 1,
  });
  const here = { rank: ranks?.rank ?? 0, ranks: ranks?.ranks ?? 1 };
  const tell: TrainerHook = {
    name: "tell",
    ranks: "all",
    onBatchEnd: ({ counters }) => {
      say({ event: "update", ...here, updates: counters.updates });
      // Signals are heard between turns of the event loop.
      return new Promise<void>((resolve) => setImmediate(resolve));
    },
  };
  const { directory } = options;
  const save = directory
    ? [checkpointHook({ directory, schedule: every({ updates: 8 }), keep: { last: 2 } })]
    : [];
  const config = { epochs: options.epochs, seed: 1, fuse: false };
  const { outcome, counters } = await new Trainer({
    task,
    config,
    hooks: [tell, ...save],
    warn,
    ranks,
  }).train();
  const hashes: Record<string, string> = {};
  for (const [name, part] of Object.entries(task.components))
    hashes[name] = await hashState(await part.getState());
  say({ event: "end", ...here, outcome, updates: counters.updates, hashes });
}

say({ event: "ready" });
// So that all of a group begin at once, however long each took to start.
await new Promise((resolve) => process.stdin.once("data", resolve));
process.stdin.pause();
try {
  if (options.ranks) await trainOnRanks({ ...options.ranks, warn }, train);
  else await train();
} catch (error) {
  say({ event: "failed", text: String(error) });
  process.exitCode = 1;
}
