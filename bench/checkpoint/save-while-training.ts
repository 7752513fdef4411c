// Run by standstill.ts in a fresh process: trains, saves a large snapshot meanwhile, and tells what training noticed.
import { rmSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { checkpointHook, localStore } from "../../src/checkpoint/index.ts";
import { nn } from "../../src/index.ts";
import { when } from "../../src/schedule/index.ts";
import type { StateTree } from "../../src/state/index.ts";
import { supervisedTask } from "../../src/supervised/index.ts";
import { latestCheckpoint, type Task, Trainer, type TrainerHook } from "../../src/trainer/index.ts";
import { freshFolder } from "../harness/scratch.ts";
import { median } from "../harness/statistics.ts";
import { batchSize, examples, model, optimizer, params } from "../hooks/smallest.ts";
import { components } from "./payload.ts";
import { settled } from "./settled.ts";
import type { Standstill } from "./standstill.ts";

const [gigabytes, saves] = [Number(process.argv[2]), Number(process.argv[3])];
/** Batches before the first save, by which it is known how long one usually takes. */
const alone = 5000;

const store = localStore(freshFolder());
const small = supervisedTask({
  ...{ model, optimizer, data: examples(), loss: nn.mse, params: params(), batchSize, engine: "xla" },
});
const large = Object.fromEntries(
  Object.entries(components(gigabytes)).map(([name, part]) => [`large.${name}`, part]),
);
const task: Task = {
  ...small,
  components: { ...small.components, ...large },
  snapshot: async () => ({
    components: {
      ...(await small.snapshot()).components,
      ...Object.fromEntries(
        Object.entries(large).map(([name, part]) => [name, part.getState() as StateTree]),
      ),
    },
  }),
};

/** The most resident memory since it was last asked. Looked at on another thread: looking may wait for the system. */
const memoryPeak = new Int32Array(new SharedArrayBuffer(4));
const memoryWatch = new Worker(
  `const { workerData } = require("node:worker_threads");
   const look = () => {
     const now = process.memoryUsage.rss() / 1e6;
     if (now > Atomics.load(workerData, 0)) Atomics.store(workerData, 0, now);
   };
   setInterval(look, 2);`,
  { eval: true, execArgv: [], workerData: memoryPeak },
);
const megabytesNow = (): number => Math.floor(process.memoryUsage.rss() / 1e6);

/** What training noticed of the stretch under way: the longest batch, the most memory. */
class Stretch {
  readonly start = performance.now();
  readonly memoryBefore = megabytesNow();
  longest = 0;
  constructor() {
    Atomics.store(memoryPeak, 0, this.memoryBefore);
  }
  get megabytes(): number {
    return Atomics.load(memoryPeak, 0) - this.memoryBefore;
  }
  get seconds(): number {
    return (performance.now() - this.start) / 1000;
  }
}

interface Found {
  readonly standstill: number;
  readonly seconds: number;
  readonly megabytes: number;
}
const usual: number[] = [];
/** Saves, and after each of them a stretch without one that lasts as long. */
const [found, without]: [Found[], number[]] = [[], []];
let stretch: Stretch | undefined;
/** The checkpoint before the one that is being saved, while one is. */
let saving: { readonly before: string | undefined } | undefined;
let due = false;
let last = performance.now();

/** Looks at each batch, and says when the checkpoint hook saves next. */
const watch: TrainerHook = {
  name: "watch",
  before: ["checkpoint"],
  onBatchEnd: ({ slots, stop }) => {
    const now = performance.now();
    const took = now - last;
    last = now;
    due = false;
    if (!stretch) {
      if (usual.push(took) === alone) begin(undefined);
      return;
    }
    stretch.longest = Math.max(stretch.longest, took);
    const saved = slots.previous(latestCheckpoint)?.path;
    if (saving) {
      if (saved === saving.before) return;
      const { seconds, megabytes, longest } = stretch;
      found.push({ standstill: longest - median(usual), megabytes, seconds });
      // Whoever removes files holds training up by himself: that is neither stretch's.
      rmSync(saved as string, { recursive: true });
      settled(store.location);
      [stretch, saving, last] = [new Stretch(), undefined, performance.now()];
    } else if (stretch.seconds > (found.at(-1)?.seconds ?? 0)) {
      without.push(stretch.longest - median(usual));
      if (found.length < saves) begin(saved);
      else stop("enough");
    }
  },
};

/** A stretch in which the run is saved. */
function begin(before: string | undefined): void {
  [due, stretch, saving] = [true, new Stretch(), { before }];
}

const checkpoint = checkpointHook({ store, schedule: when(() => due), on: "onBatchEnd" });
await new Trainer({ task, config: { epochs: Number.POSITIVE_INFINITY }, hooks: [watch, checkpoint] }).train();
await memoryWatch.terminate();
const result: Standstill = {
  milliseconds: median(found.map(({ standstill }) => standstill)),
  without: median(without),
  megabytes: Math.max(...found.map(({ megabytes }) => megabytes)),
};
for (const [i, { standstill, megabytes, seconds }] of found.entries())
  console.error(
    `  ${gigabytes} GB: ${standstill.toFixed(1)} ms (${without[i]?.toFixed(1)} without), ${megabytes.toFixed(0)} MB, ${seconds.toFixed(2)} s`,
  );
process.send?.(result);
