// What `npm run demo` shows: a network learns to tell two spirals apart, on the best engine that is here.
import {
  compile,
  consoleSink,
  engine,
  engineHint,
  every,
  Logger,
  metricsHook,
  nn,
  np,
  optim,
  random,
  type Tensor,
  Trainer,
  type Value,
} from "../src/index.ts";
import { supervisedTask } from "../src/supervised/index.ts";
import { drawRegions, gridPoints } from "./demo-drawing.ts";

const POINTS = 400;
const EPOCHS = 1500;
const PROMISED = 0.98;

/** Points on two arms that wind around each other, and which arm each is on. */
const spirals = compile(
  (seed: number) => {
    const [alongKey, noiseKey] = random.split(random.key(seed));
    const along = np.sqrt(random.uniform(alongKey, [POINTS]));
    const arms = np.remainder(np.arange(POINTS), 2);
    const angle = np.add(np.multiply(along, 3 * Math.PI), np.multiply(arms, Math.PI));
    const arm = np.stack([np.multiply(along, np.cos(angle)), np.multiply(along, np.sin(angle))], { axis: 1 });
    return {
      points: np.add(arm, np.multiply(random.normal(noiseKey, [POINTS, 2]), 0.02)),
      arms: arms.astype("i32"),
    };
  },
  { static: [0] },
);

/** A bar and the loss now and then on a terminal, a few lines elsewhere. What else can be had is in docs/logging.md. */
const progress = metricsHook({
  logger: new Logger({
    sinks: [consoleSink({ schedule: every({ steps: EPOCHS / 3 }), metrics: ["train/loss"] })],
  }),
  system: false,
  timing: false,
});

console.log(engineHint());
if (engine().name === "wasm") console.log("  in this checkout: npm run --silent espalier -- engine install");

const train = spirals(0);
const test = spirals(1);
const model = nn.mlp({ hidden: [64, 64], out: 2 });
const task = supervisedTask({
  model,
  optimizer: optim.adam({ learningRate: 5e-3 }),
  data: { x: train.points, y: train.arms },
  loss: nn.crossEntropy,
  batchSize: POINTS,
  shuffle: false,
});
// At most 25 updates a call, so that the bar moves.
const config = { epochs: EPOCHS, name: "spirals", fuse: 25 };
const trainer = new Trainer({ task, config, hooks: [progress] });
const { timings, counters } = await trainer.train();

const classify = compile((params: nn.Params, points: Value) =>
  np.argmax(model.apply(params, points), { axis: 1 }),
);

const size = { columns: Math.min(process.stdout.columns || 72, 72), rows: 30 };
const regions = await classify(task.params, gridPoints(size)).read();
const unseen = await Promise.all([test.points, test.arms, classify(task.params, test.points)].map(readAll));
const [points = [], arms = [], guesses = []] = unseen;
console.log(drawRegions(size, regions, points, arms));

const right = guesses.filter((guess, i) => guess === arms[i]).length / POINTS;
console.log(`${(100 * right).toFixed(1)} % of ${POINTS} points it has not seen are told apart rightly`);
const milliseconds = (1000 * timings.seconds) / counters.updates;
console.log(
  `${milliseconds.toFixed(3)} ms an update, compiling included (batch ${POINTS}, net 2-64-64-2, Adam)`,
);
if (right < PROMISED) {
  console.error(`that is less than the ${100 * PROMISED} % this demo promises`);
  process.exitCode = 1;
}

async function readAll(tensor: Tensor): Promise<number[]> {
  return [...(await tensor.read())];
}
