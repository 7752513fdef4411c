// The runs whose end states are recorded: one or more for each way of training, all of them short, with nets so small
// that their checkpoints are a few kilobytes. Written with the package's public names alone. Changing a run here means
// recording it again with the old sources; only names of the API are kept up with the sources.
import {
  byMetric,
  cosine,
  cycle,
  type EngineName,
  every,
  Logger,
  linear,
  metricsHook,
  nn,
  np,
  optim,
  type TrainerOptions,
} from "espalier";
import { gradientMonitor, lossSpikeDetector } from "espalier/metrics";
import {
  a2c,
  autoUpdateEpochs,
  box,
  defineEnvironment,
  discrete,
  dqn,
  evaluationHook,
  gridLessons,
  lessonCurriculum,
  lessonSuites,
  type PolicySpec,
  ppo,
} from "espalier/rl";
import { accuracy, supervisedTask } from "espalier/supervised";

export interface RecordedRun {
  readonly name: string;
  /** Updates after which its checkpoint is taken: in the middle of an epoch. */
  readonly breakAt: number;
  readonly setup: (engine: EngineName) => TrainerOptions;
}

/** Numbers from -1 to 1 without a pattern, the same on every machine: no function of the C library is asked. */
function numbers(length: number, seed: number): Float32Array {
  let state = seed >>> 0;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const classes = (length: number, count: number, seed: number): Int32Array =>
  Int32Array.from(numbers(length, seed), (x) => Math.floor(((x + 1) / 2) * count));

/** Points of a plane, and the sum of their squares. */
function curve(examples: number, seed: number) {
  const x = numbers(2 * examples, seed);
  const y = Float32Array.from(
    { length: examples },
    (_, i) => (x[2 * i] ?? 0) ** 2 + (x[2 * i + 1] ?? 0) ** 2,
  );
  return { x: { data: x, shape: [examples, 2] }, y: { data: y, shape: [examples, 1] } };
}

/** Points of a plane, and whether they lie within a circle. */
function disc(examples: number, seed: number) {
  const { x, y } = curve(examples, seed);
  return { x, y: Int32Array.from(y.data, (square) => (square < 0.6 ? 1 : 0)) };
}

const small: PolicySpec = { encoder: { kind: "mlp", hidden: [8] } };

/** Counts to a number that it saw in its first step; some of its actions are forbidden. */
const makeCount = defineEnvironment({
  name: "Count",
  observation: box({ shape: [3], low: -1, high: 8 }),
  action: discrete(3),
  timeLimit: 7,
  initial: (random) => ({ goal: random.integer(4) + 2, at: 0, steps: 0 }),
  step: ({ goal, at, steps }, action) => {
    const next = at + action - 1;
    const reached = next === goal;
    return {
      state: { goal, at: next, steps: steps + 1 },
      reward: reached ? 3 : -0.1 * action,
      terminated: reached,
    };
  },
  observe: ({ goal, at, steps }) => [steps === 0 ? goal : 0, at, steps % 2],
  actionMask: ({ at, steps }) => [at > 0, true, steps !== 3],
});

export const recordedRuns: readonly RecordedRun[] = [
  {
    name: "supervised-plain",
    breakAt: 13,
    setup: (engine) => ({
      task: supervisedTask({
        model: nn.mlp({ hidden: [16, 8], out: 1, activation: nn.tanh }),
        optimizer: optim.adam({ learningRate: 5e-3 }),
        data: curve(84, 1),
        loss: nn.mse,
        batchSize: 8,
        engine,
      }),
      config: { epochs: 3, seed: 3 },
    }),
  },
  {
    name: "supervised-dropout-accumulate-clip",
    breakAt: 9,
    setup: (engine) => ({
      task: supervisedTask({
        model: nn.sequential([nn.dense(16), nn.relu, nn.dropout(0.2), nn.dense(2)]),
        optimizer: optim.chain(
          optim.clipByGlobalNorm(0.5),
          optim.adamw({ learningRate: 1e-2, weightDecay: 1e-2 }),
        ),
        data: disc(100, 2),
        validation: disc(24, 3),
        loss: nn.crossEntropy,
        metrics: { accuracy },
        batchSize: 8,
        accumulate: 2,
        monitor: { gradients: "layers", parameters: true, updates: true },
        engine,
      }),
      config: { epochs: 3, seed: 4 },
      hooks: [gradientMonitor()],
    }),
  },
  {
    name: "supervised-losses-ramps",
    breakAt: 16,
    setup: (engine) => ({
      task: supervisedTask({
        model: nn.mlp({ hidden: [12], out: 2 }),
        optimizer: optim.sgd({ momentum: 0.9 }),
        data: disc(60, 5),
        validation: disc(20, 6),
        loss: [
          { name: "disc", term: ({ outputs, batch }) => ({ loss: nn.crossEntropy(outputs, batch.y) }) },
          {
            name: "small",
            weight: byMetric({
              metric: "train/disc.loss",
              initial: 0.01,
              transform: (loss) => loss / 50,
              ema: 0.5,
            }),
            active: { train: cycle({ epochs: 3, active: [2, 3] }) },
            term: ({ outputs }) => ({
              loss: np.mean(np.square(outputs)),
              metrics: { size: np.max(np.abs(outputs)) },
            }),
          },
          {
            name: "even",
            weight: linear({ from: 0.2, to: 0, over: { updates: 20 } }),
            term: ({ outputs }) => ({ loss: np.square(np.mean(outputs)) }),
          },
        ],
        metrics: { accuracy },
        batchSize: 16,
        learningRate: cosine({ from: 5e-2, to: 1e-3, over: { epochs: 6 } }),
        monitor: { gradients: true },
        engine,
      }),
      config: { epochs: 6, seed: 7 },
      hooks: [
        metricsHook({
          logger: new Logger({
            sinks: [{ name: "nowhere", schedule: every({ steps: 7 }), write: () => undefined }],
          }),
          gradients: true,
        }),
        lossSpikeDetector(),
      ],
    }),
  },
  {
    name: "supervised-conv",
    breakAt: 5,
    setup: (engine) => ({
      task: supervisedTask({
        model: nn.cnn({ channels: [4, 6], pool: 2, padding: "same", dense: [8], out: 3 }),
        optimizer: optim.adam({ learningRate: 1e-2 }),
        data: { x: { data: numbers(24 * 64, 8), shape: [24, 8, 8, 1] }, y: classes(24, 3, 9) },
        loss: nn.crossEntropy,
        batchSize: 6,
        engine,
      }),
      config: { epochs: 2, seed: 1 },
    }),
  },
  {
    name: "supervised-transformer",
    breakAt: 5,
    setup: (engine) => ({
      task: supervisedTask({
        model: nn.transformer({ vocabulary: 11, width: 8, layers: 1, heads: 2, context: 6, dropout: 0.1 }),
        optimizer: optim.adam({ learningRate: 1e-2 }),
        data: {
          x: { data: classes(24 * 6, 11, 10), shape: [24, 6] },
          y: { data: classes(24 * 6, 11, 11), shape: [24, 6] },
        },
        loss: nn.crossEntropy,
        batchSize: 6,
        engine,
      }),
      config: { epochs: 2, seed: 2 },
    }),
  },
  {
    name: "ppo-compiled",
    breakAt: 11,
    setup: (engine) =>
      ppo({
        env: "CartPole-v1",
        compiled: true,
        environments: 4,
        rolloutSteps: 16,
        updateEpochs: 2,
        minibatches: 2,
        totalSteps: 6 * 64,
        policy: small,
        seed: 5,
        engine,
      }).setup(),
  },
  {
    name: "ppo-ordinary",
    breakAt: 11,
    setup: (engine) =>
      ppo({
        env: "CartPole-v1",
        compiled: false,
        environments: 4,
        rolloutSteps: 16,
        updateEpochs: 2,
        minibatches: 2,
        totalSteps: 6 * 64,
        valueClip: 0.2,
        annealClip: true,
        policy: { ...small, towers: "shared" },
        seed: 6,
        engine,
      }).setup(),
  },
  {
    name: "ppo-recurrent-masks",
    breakAt: 11,
    setup: (engine) =>
      ppo({
        env: makeCount,
        environments: 4,
        rolloutSteps: 16,
        updateEpochs: 2,
        minibatches: 2,
        segment: 8,
        totalSteps: 6 * 64,
        normalizeObservations: true,
        normalizeRewards: true,
        policy: { ...small, memory: { kind: "gru", width: 6 } },
        seed: 7,
        engine,
      }).setup(),
  },
  {
    name: "ppo-vtrace-prioritized",
    breakAt: 11,
    setup: (engine) =>
      ppo({
        env: "CartPole-v1",
        compiled: true,
        environments: 4,
        rolloutSteps: 16,
        updateEpochs: autoUpdateEpochs({ start: 2, max: 3, warmup: 1, cooldown: 0 }),
        minibatches: 2,
        segment: 4,
        totalSteps: 6 * 64,
        centerRewards: true,
        targetKl: 0.5,
        vtrace: {},
        prioritized: {},
        normalizeObservations: true,
        normalizeAdvantages: "batch",
        policy: small,
        seed: 8,
        engine,
      }).setup(),
  },
  {
    name: "ppo-curriculum",
    breakAt: 11,
    setup: (engine) => {
      const lessons = Object.keys(gridLessons).slice(0, 3);
      return ppo({
        env: "GridWorld-v0",
        compiled: true,
        environments: 4,
        rolloutSteps: 16,
        updateEpochs: 2,
        minibatches: 2,
        totalSteps: 6 * 64,
        policy: small,
        curriculum: lessonCurriculum({
          lessons: Object.keys(gridLessons).map((name, i, all) => ({ name, after: all.slice(i - 1, i) })),
        }),
        seed: 9,
        engine,
      }).setup({
        hooks: ({ player }) => [
          evaluationHook({
            player,
            suites: Object.fromEntries(
              Object.entries(lessonSuites("GridWorld-v0")).filter(([name]) => lessons.includes(name)),
            ),
            schedule: every({ epochs: 3 }),
            episodes: 2,
          }),
        ],
      });
    },
  },
  {
    name: "a2c-continuous",
    breakAt: 7,
    setup: (engine) =>
      a2c({
        env: "Pendulum-v1",
        compiled: true,
        environments: 4,
        rolloutSteps: 8,
        totalSteps: 12 * 32,
        normalizeObservations: true,
        policy: small,
        seed: 10,
        engine,
      }).setup(),
  },
  {
    name: "dqn",
    breakAt: 13,
    setup: (engine) =>
      dqn({
        env: "CartPole-v1",
        environments: 2,
        rolloutSteps: 4,
        updates: 2,
        cycles: 4,
        batchSize: 16,
        capacity: 128,
        learningStarts: 32,
        totalSteps: 6 * 32,
        double: true,
        target: { every: 4, tau: 0.5 },
        policy: { ...small, towers: "shared" },
        seed: 11,
        engine,
      }).setup(),
  },
];
