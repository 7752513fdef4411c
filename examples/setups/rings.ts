// A training set-up in a file of its own, which commands can run: `espalier prove-resume examples/setups/rings.ts`.
// It has everything that a resumed run could get wrong: shuffled data, dropout, updates over two batches, a learning
// rate that moves, a term that takes turns, a weight that follows a metric, and metrics in windows that a kill cuts
// through.
import {
  byMetric,
  compile,
  cosine,
  cycle,
  every,
  Logger,
  metricsHook,
  nn,
  np,
  optim,
  random,
  type TrainingSetup,
  type Value,
} from "espalier";
import { lossSpikeDetector } from "espalier/metrics";
import { accuracy, supervisedTask } from "espalier/supervised";

/** Points in two rings and which ring each is in, from one seed: the same in every process. */
const rings = compile(
  (seed: number) => {
    const [angleKey, noiseKey, ringKey] = random.split(random.key(seed), 3) as [Value, Value, Value];
    const ring = random.bernoulli(ringKey, 0.5, [300]).astype("i32");
    const angle = random.uniform(angleKey, [300]).mul(2 * Math.PI);
    const noise = random.normal(noiseKey, [300]).mul(0.12);
    const radius = ring.astype("f32").add(0.6).add(noise);
    return { x: np.stack([np.cos(angle).mul(radius), np.sin(angle).mul(radius)], { axis: 1 }), y: ring };
  },
  { static: [0] },
);

export const setup: TrainingSetup = () => ({
  task: supervisedTask({
    model: nn.sequential([nn.dense(32), nn.relu, nn.dropout(0.2), nn.dense(2)]),
    optimizer: optim.adam(),
    data: rings(1),
    validation: rings(2),
    loss: [
      { name: "rings", term: ({ outputs, batch }) => ({ loss: nn.crossEntropy(outputs, batch.y) }) },
      {
        name: "small",
        weight: byMetric({
          metric: "train/rings.loss",
          initial: 0.01,
          transform: (loss) => loss / 50,
          ema: 0.5,
        }),
        active: { train: cycle({ epochs: 4, active: [2, 3] }) },
        term: ({ outputs }) => ({ loss: np.mean(np.square(outputs)) }),
      },
    ],
    metrics: { accuracy },
    batchSize: 16,
    accumulate: 2,
    learningRate: cosine({ from: 1e-2, to: 1e-3, over: { epochs: 6 } }),
    monitor: { gradients: true },
  }),
  config: { epochs: 6, seed: 7, name: "rings" },
  hooks: [
    metricsHook({
      // Windows are what matters here, not where they go.
      logger: new Logger({
        sinks: [{ name: "nowhere", schedule: every({ steps: 7 }), write: () => undefined }],
      }),
      gradients: true,
    }),
    lossSpikeDetector(),
  ],
});
