// What `npm run demo` shows: a network learns to tell two spirals apart, on the best engine that is here.
import { SingleBar } from "cli-progress";
import {
  compile,
  engine,
  engineHint,
  nn,
  np,
  random,
  type Tensor,
  treeMap,
  type Value,
  valueAndGrad,
} from "../src/index.ts";
import { drawRegions, gridPoints } from "./demo-drawing.ts";

const WIDTHS = [2, 64, 64, 2];
const POINTS = 400;
const STEPS = 1500;
const RATE = 5e-3;
const PROMISED = 0.98;

type Params = readonly { readonly w: Value; readonly b: Value }[];

interface State {
  readonly params: Params;
  readonly mean: Params;
  readonly square: Params;
  readonly count: Value;
}

/** Points on two arms that wind around each other, and which arm each is on. */
function spirals(key: Value): { points: Value; arms: Value } {
  const [alongKey, noiseKey] = random.split(key);
  const along = np.sqrt(random.uniform(alongKey, [POINTS]));
  const arms = np.remainder(np.arange(POINTS), 2);
  const angle = np.add(np.multiply(along, 3 * Math.PI), np.multiply(arms, Math.PI));
  const arm = np.stack([np.multiply(along, np.cos(angle)), np.multiply(along, np.sin(angle))], { axis: 1 });
  return { points: np.add(arm, np.multiply(random.normal(noiseKey, [POINTS, 2]), 0.02)), arms };
}

function initialState(key: Value): State {
  const keys = random.split(key, WIDTHS.length - 1);
  const params = keys.map((layerKey, i) => {
    const [inputs, outputs] = [WIDTHS[i] as number, WIDTHS[i + 1] as number];
    const w = np.multiply(random.normal(layerKey, [inputs, outputs]), Math.sqrt(2 / inputs));
    return { w, b: np.zeros([outputs]) };
  });
  const zeros = treeMap(np.zerosLike, params);
  return { params, mean: zeros, square: zeros, count: np.zeros([]) };
}

const logitsOf = (params: Params, points: Value): Value =>
  params.reduce((x, { w, b }, i) => {
    const y = np.add(np.matmul(x, w), b);
    return i < params.length - 1 ? nn.relu(y) : y;
  }, points);

const lossOf = (params: Params, points: Value, arms: Value): Value =>
  np.negative(
    np.mean(np.sum(np.multiply(nn.logSoftmax(logitsOf(params, points)), np.oneHot(arms, 2)), { axis: 1 })),
  );

/** One step of Adam. */
function trainStep(state: State, points: Value, arms: Value): { state: State; loss: Value } {
  const [loss, grads] = valueAndGrad(lossOf)(state.params, points, arms);
  const count = np.add(state.count, 1);
  const blend = (rate: number) => (old: Value, now: Value) =>
    np.add(np.multiply(old, rate), np.multiply(now, 1 - rate));
  const mean = treeMap(blend(0.9), state.mean, grads);
  const square = treeMap(blend(0.999), state.square, treeMap(np.square, grads));
  const unbiased = (value: Value, rate: number) => np.divide(value, np.subtract(1, np.power(rate, count)));
  const params = treeMap(
    (p: Value, m: Value, s: Value) =>
      np.subtract(
        p,
        np.multiply(RATE, np.divide(unbiased(m, 0.9), np.add(np.sqrt(unbiased(s, 0.999)), 1e-8))),
      ),
    state.params,
    mean,
    square,
  );
  return { state: { params, mean, square, count }, loss };
}

/** A bar on a terminal, a few lines elsewhere. */
function progress(): { update(step: number, loss: number): void; stop(): void } {
  if (!process.stdout.isTTY) {
    const every = STEPS / 5;
    return {
      update: (step, loss) => {
        if (step % every === 0) console.log(`step ${step} of ${STEPS}, loss ${loss.toFixed(4)}`);
      },
      stop: () => undefined,
    };
  }
  const bar = new SingleBar({
    format: "training {bar} {value}/{total}  loss {loss}",
    barCompleteChar: "█",
    barIncompleteChar: "░",
    stream: process.stdout,
  });
  bar.start(STEPS, 0, { loss: "" });
  return { update: (step, loss) => bar.update(step, { loss: loss.toFixed(4) }), stop: () => bar.stop() };
}

console.log(engineHint());
if (engine().name === "wasm") console.log("  in this checkout: npm run --silent espalier -- engine install");

const begin = compile(() => {
  const [trainKey, testKey, initKey] = random.split(random.key(0), 3);
  return { train: spirals(trainKey), test: spirals(testKey), state: initialState(initKey) };
});
const step = compile(trainStep);
const classify = compile((params: Params, points: Value) => np.argmax(logitsOf(params, points), { axis: 1 }));

const { train, test, state: first } = begin();
let { state, loss } = step(first, train.points, train.arms); // traces and compiles
await loss.item();

const shown = progress();
const started = performance.now();
for (let i = 2; i <= STEPS; i++) {
  ({ state, loss } = step(state, train.points, train.arms));
  if (i % 25 === 0) shown.update(i, await loss.item());
}
await loss.item();
const milliseconds = (performance.now() - started) / (STEPS - 1);
shown.stop();

const size = { columns: Math.min(process.stdout.columns || 72, 72), rows: 30 };
const regions = await classify(state.params, gridPoints(size)).read();
const unseen = await Promise.all([test.points, test.arms, classify(state.params, test.points)].map(readAll));
const [points = [], arms = [], guesses = []] = unseen;
console.log(drawRegions(size, regions, points, arms));

const right = guesses.filter((guess, i) => guess === arms[i]).length / POINTS;
console.log(`${(100 * right).toFixed(1)} % of ${POINTS} points it has not seen are told apart rightly`);
console.log(`${milliseconds.toFixed(3)} ms a step (batch ${POINTS}, net ${WIDTHS.join("-")}, Adam)`);
if (right < PROMISED) {
  console.error(`that is less than the ${100 * PROMISED} % this demo promises`);
  process.exitCode = 1;
}

async function readAll(tensor: Tensor): Promise<number[]> {
  return [...(await tensor.read())];
}
