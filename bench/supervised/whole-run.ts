import { nn } from "../../src/index.ts";
import { supervisedTrainer } from "../../src/supervised/index.ts";
import type { TrainerHook } from "../../src/trainer/index.ts";
import { numbers } from "../engine/data.ts";
import type { CountedFigure, TimedFigure } from "../harness/figure.ts";
import { freshFolder } from "../harness/scratch.ts";

const run = { images: 1797, held: 360, size: 8, classes: 10, epochs: 30, batch: 32 };

const models = {
  MLP: () => nn.mlp({ hidden: [64, 64], out: run.classes }),
  "conv net": () => nn.cnn({ channels: [16, 32], dense: [64], out: run.classes }),
} as const;
type ModelName = keyof typeof models;

/** Labels that follow from the images, so that there is something to learn. */
const images = numbers(0, run.images * run.size ** 2);
const labels = Int32Array.from({ length: run.images }, (_, i) =>
  Math.floor((images[i * 64] as number) * 5 + 5),
);

function part(from: number, to: number) {
  const { size } = run;
  return {
    x: { data: images.subarray(from * size ** 2, to * size ** 2), shape: [to - from, size, size, 1] },
    y: labels.subarray(from, to),
  };
}

/** Trains as users do: validation after each epoch, checkpoints, metrics in files. Seconds by epoch. */
async function trainOnce(name: ModelName): Promise<readonly number[]> {
  const ends = [performance.now()];
  const watch: TrainerHook = {
    name: "watch",
    priority: -1000,
    onEpochEnd: async ({ state }) => {
      // The last loss is waited for once, at the end, as PyTorch's loop does.
      if (state.counters.epochs === run.epochs) await state.metrics();
      ends.push(performance.now());
    },
  };
  const { epochs, batch } = run;
  const flat = name === "MLP";
  const reshaped = (data: ReturnType<typeof part>) =>
    flat ? { ...data, x: { data: data.x.data, shape: [data.x.shape[0] as number, 64] } } : data;
  const trainer = supervisedTrainer({
    model: models[name](),
    trainingConfig: { epochs, batchSize: batch, learningRate: 1e-3 },
    checkpointDir: freshFolder(`whole-run-${flat ? "mlp" : "conv"}`),
    hooks: [watch],
    engine: "xla",
  });
  const kept = run.images - run.held;
  await trainer.train({
    trainData: reshaped(part(0, kept)),
    valData: reshaped(part(kept, run.images)),
    progress: false,
  });
  ends[ends.length - 1] = performance.now();
  return ends.slice(1).map((end, i) => (end - (ends[i] as number)) / 1000);
}

const total = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

const wholeRun = (name: ModelName): readonly [TimedFigure, CountedFigure] => [
  {
    kind: "timed",
    name: `whole run, ${run.epochs} epochs of ${name === "MLP" ? "an MLP" : "a conv net"} on 1,797 8x8 images, validation, checkpoints and logging on, after the first epoch`,
    engine: "xla",
    unit: "s",
    steps: 1,
    ours: async () => ({ run: async () => total((await trainOnce(name)).slice(1)) }),
    peers: { torch: { script: "torch_whole_run.py", case: name === "MLP" ? "mlp" : "conv", params: run } },
    bars: [{ kind: "ratio", against: "torch", atMost: 1 }],
  },
  {
    kind: "counted",
    name: `the first epoch of that run with ${name === "MLP" ? "an MLP" : "a conv net"}: compilation, first checkpoint`,
    engine: "xla",
    unit: "s",
    ours: async () => (await trainOnce(name))[0] as number,
    bars: [],
  },
];

/** Whole runs as users see them, beside PyTorch's bare training loop. */
export const wholeRuns = [...wholeRun("MLP"), ...wholeRun("conv net")];
