// What happens in a run, for people and programs: logged every time, shown now and then, asked for afterwards. New ideas:
// one logger with several sinks, `metricsHook`, a metric of a hook's own, and a stats store that answers questions.
// `npm run examples -- 05` cleans up; `npx tsx examples/05-logging.ts runs` keeps what it wrote, for the commands.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  compile,
  consoleSink,
  every,
  jsonlSink,
  Logger,
  metricsHook,
  nn,
  np,
  optim,
  random,
  Trainer,
  type TrainerHook,
  tensorBoardSink,
} from "espalier";
import { declareMetric, openStatsStore } from "espalier/metrics";
import { supervisedTask } from "espalier/supervised";

export const points = compile(
  (seed: number) => {
    const x = random.uniform(random.key(seed), [224, 1]).mul(4).sub(2);
    return { x, y: np.sin(x.mul(2)) };
  },
  { static: [0] },
);

const EPOCHS = 100;
const UPDATES = EPOCHS * 7;
const WINDOW = 10;

/** A hook that logs a metric of its own: by how much an epoch's last loss differs from that of the epoch before. */
export function gainHook(): TrainerHook {
  let before: number | undefined;
  return {
    name: "gain",
    async onEpochEnd({ state, log }) {
      const loss = (await state.metrics()).loss;
      if (before !== undefined && loss !== undefined) log({ gain: before - loss }, "progress");
      before = loss;
    },
  };
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const [, , given] = process.argv;
  const directory = given ?? mkdtempSync(join(tmpdir(), "espalier-logging-"));
  const store = await openStatsStore(join(directory, "stats.db"));
  try {
    const everyWindow = every({ steps: WINDOW });
    const tensorBoard = join(directory, "sine", "tensorboard");
    const jsonl = join(directory, "sine", "metrics.jsonl");
    const logger = new Logger({
      sinks: [
        // People look now and then, and not at everything; files get more.
        consoleSink({ schedule: every({ epochs: 25 }), categories: ["train", "validation", "progress"] }),
        jsonlSink(jsonl, { schedule: everyWindow, categories: ["train"] }),
        tensorBoardSink(tensorBoard),
      ],
      metrics: [declareMetric({ name: "gain", category: "progress", reduction: "sum", owner: "gain" })],
    });

    const task = supervisedTask({
      model: nn.mlp({ hidden: [32, 32], out: 1 }),
      optimizer: optim.chain(optim.clipByGlobalNorm(1), optim.adam({ learningRate: 5e-3 })),
      data: points(1),
      validation: points(2),
      loss: nn.mse,
      batchSize: 32,
      monitor: { gradients: true },
    });
    // The store goes to the hook, which files more in it than metrics. Gradients are watched too.
    const metrics = metricsHook({ logger, statsStore: store, gradients: true });
    const trainer = new Trainer({
      task,
      config: { epochs: EPOCHS, name: "sine" },
      hooks: [gainHook(), metrics],
    });
    const { validation, counters } = await trainer.train();
    assert.equal(counters.updates, UPDATES);

    // Everything is written when train() has returned. The store has a window each 100 steps.
    const { id, outcome } = await store.run("sine");
    assert.equal(outcome, "completed");
    const losses = await store.series(id, "train/loss");
    assert.deepEqual(
      losses.map(({ step, count }) => [step, count]),
      Array.from({ length: UPDATES / 100 }, (_, i) => [100 * (i + 1), 100]),
      "each window is the mean of a hundred updates",
    );
    console.log(`the store's losses: ${losses.map(({ value }) => value?.toFixed(4)).join(" ")}`);

    // The same values, in windows of ten: nothing is sampled, so the means agree.
    const lines = readFileSync(jsonl, "utf8").trimEnd().split("\n");
    const fine = lines.map((line) => JSON.parse(line)).filter(({ key }) => key === "train/loss");
    assert.equal(fine.length, UPDATES / WINDOW);
    const first = fine.slice(0, 100 / WINDOW).reduce((sum, { value }) => sum + value, 0) / (100 / WINDOW);
    assert.ok(Math.abs(first - (losses[0]?.value ?? 0)) < 1e-9, "windows of 10 add up to windows of 100");

    // Validation and train have metrics of the same name, and a hook's own is beside them.
    const newest = new Map((await store.latest(id)).map((row) => [row.key, row]));
    assert.equal(newest.get("progress/gain")?.reduction, "sum");
    const validated = await store.series(id, "validation/loss");
    assert.equal(
      validated.reduce((sum, { count }) => sum + count, 0),
      EPOCHS,
      "every validation counts",
    );
    assert.ok((validation?.loss ?? 1) < 0.05, "it learns");
    assert.equal(newest.get("health/gradients.nan")?.value, 0);

    const timings = await store.hookTimings(id);
    const gain = timings.find(({ hook }) => hook === "gain");
    assert.equal(gain?.count, EPOCHS);
    for (const { hook, count, mean } of timings.filter(({ count }) => count > 0))
      console.log(`${hook.padEnd(18)} ${count} calls, ${mean.toFixed(3)} ms each`);

    assert.ok(readdirSync(tensorBoard).some((file) => file.includes("tfevents")));
    if (given) console.log(`now: npm run --silent espalier -- show sine --store ${join(given, "stats.db")}`);
  } finally {
    await store.close();
    if (!given) rmSync(directory, { recursive: true, force: true });
  }
}
