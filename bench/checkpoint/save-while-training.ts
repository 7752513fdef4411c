// Run by standstill.ts in a fresh process: trains, saves a large snapshot meanwhile, and tells what training noticed.
import { rmSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { CheckpointManager, localStore, snapshotOf } from "../../src/checkpoint/index.ts";
import { nn } from "../../src/index.ts";
import type { StateTree } from "../../src/state/index.ts";
import { supervisedTask } from "../../src/supervised/index.ts";
import { type Task, Trainer, type TrainerHook } from "../../src/trainer/index.ts";
import { median } from "../harness/statistics.ts";
import { batchSize, examples, model, optimizer, params } from "../hooks/smallest.ts";
import { components, freshFolder } from "./payload.ts";
import { settled } from "./settled.ts";
import type { Standstill } from "./standstill.ts";

const [gigabytes, saves] = [Number(process.argv[2]), Number(process.argv[3])];
/** Batches before the first save, by which it is known how long one usually takes. */
const alone = 5000;

const store = localStore(freshFolder());
const manager = new CheckpointManager({ store });
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

/** What training noticed of the stretch under way: the longest batch, the most memory. */
class Stretch {
  readonly start = performance.now();
  readonly memoryBefore = resident();
  longest = 0;
  memory = this.memoryBefore;
  note(took: number): void {
    this.longest = Math.max(this.longest, took);
    this.memory = Math.max(this.memory, resident());
  }
}

interface Found {
  readonly standstill: number;
  readonly seconds: number;
  readonly megabytes: number;
}
const resident = (): number => process.memoryUsage.rss() / 1e6;
const usual: number[] = [];
/** Saves, and after each of them a stretch without one that lasts as long. */
const [found, without]: [Found[], number[]] = [[], []];
let stretch: Stretch | undefined;
let saving = false;
let last = performance.now();

const watch: TrainerHook = {
  name: "watch",
  onBatchEnd: (context) => {
    const now = performance.now();
    const took = now - last;
    last = now;
    if (!stretch) return usual.push(took) < alone ? undefined : save(context);
    stretch.note(took);
    if (saving || now - stretch.start < 1000 * (found.at(-1)?.seconds ?? 0)) return undefined;
    without.push(stretch.longest - median(usual));
    if (found.length < saves) return save(context);
    return context.stop("enough");
  },
};

/** What it awaits, training waits for; the rest goes on beside it. */
async function save(context: Parameters<NonNullable<TrainerHook["onBatchEnd"]>>[0]): Promise<void> {
  const noticed = new Stretch();
  [stretch, saving] = [noticed, true];
  const frozen = snapshotOf((await context.snapshot()).components);
  void manager.write(frozen, { counters: context.counters }).then(({ path }) => {
    const seconds = (performance.now() - noticed.start) / 1000;
    noticed.note(performance.now() - last);
    const megabytes = noticed.memory - noticed.memoryBefore;
    found.push({ standstill: noticed.longest - median(usual), megabytes, seconds });
    // Whoever removes files holds training up by himself: that is neither stretch's.
    rmSync(path, { recursive: true });
    settled(store.location);
    [stretch, saving, last] = [new Stretch(), false, performance.now()];
  });
}

await new Trainer({ task, config: { epochs: Number.POSITIVE_INFINITY }, hooks: [watch] }).train();
await manager.close();
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
