import { type Clock, treeMap } from "../../core/index.ts";
import { compile, type EngineName, np, random, type Value, valueAndGrad } from "../../engine/index.ts";

/** What is trained, for people. */
export const NET = "MLP 4-64-64-2, batch 64, Adam";

const WIDTHS = [4, 64, 64, 2] as const;
const BATCH = 64;
const RATE = 3e-3;
/** How many random words engines are compared by. */
const WORDS = 1024;

type Params = readonly { readonly w: Value; readonly b: Value }[];

interface State {
  readonly params: Params;
  readonly mean: Params;
  readonly square: Params;
  readonly count: Value;
}

/** What came of training on one engine. */
export interface Training {
  /** Tracing, compiling and running the first step, in milliseconds. */
  readonly firstMs: number;
  /** The median of the steps after it, each with its loss read. */
  readonly stepMs: number;
  readonly losses: readonly number[];
  readonly randomWords: Uint32Array;
}

/** Parameters and data from one seed. The label says on which side of a curved surface a point lies. */
function begin(): { state: State; x: Value; labels: Value } {
  const [dataKey, ...keys] = random.split(random.key(0), WIDTHS.length);
  const params = keys.map((key, i) => {
    const [inputs, outputs] = [WIDTHS[i] as number, WIDTHS[i + 1] as number];
    const limit = Math.sqrt(6 / (inputs + outputs));
    return { w: random.uniform(key, [inputs, outputs], { min: -limit, max: limit }), b: np.zeros([outputs]) };
  });
  const x = random.uniform(dataKey as Value, [BATCH, 4], { min: -1, max: 1 });
  const inside = np.less(np.sum(np.square(x), { axis: 1 }), 4 / 3);
  const zeros = treeMap(np.zerosLike, params);
  return {
    state: { params, mean: zeros, square: zeros, count: np.zeros([]) },
    x,
    labels: np.oneHot(np.astype(inside, "i32"), 2),
  };
}

function loss(params: Params, x: Value, labels: Value): Value {
  const logits = params.reduce((input, { w, b }, i) => {
    const output = np.add(np.matmul(input, w), b);
    return i < params.length - 1 ? np.tanh(output) : output;
  }, x);
  const right = np.sum(np.multiply(logits, labels), { axis: 1 });
  return np.mean(np.subtract(np.logsumexp(logits, { axis: 1 }), right));
}

/** One step of Adam. */
function step(state: State, x: Value, labels: Value): { state: State; loss: Value } {
  const [value, grads] = valueAndGrad(loss)(state.params, x, labels);
  const count = np.add(state.count, 1);
  const blend = (keep: number) => (old: Value, now: Value) =>
    np.add(np.multiply(old, keep), np.multiply(now, 1 - keep));
  const mean = treeMap(blend(0.9), state.mean, grads);
  const square = treeMap(blend(0.999), state.square, treeMap(np.square, grads));
  const grown = (keep: number): Value => np.subtract(1, np.power(keep, count));
  const update = (p: Value, m: Value, s: Value): Value => {
    const size = np.add(np.sqrt(np.divide(s, grown(0.999))), 1e-8);
    return np.subtract(p, np.multiply(np.divide(np.divide(m, grown(0.9)), size), RATE));
  };
  const params = treeMap(update, state.params, mean, square);
  return { state: { params, mean, square, count }, loss: value };
}

/** Trains for some steps on one engine, reading the loss of each. */
export async function train(engine: EngineName, steps: number, clock: Clock): Promise<Training> {
  const { state, x, labels } = compile(begin, { engine })();
  const words = compile(() => random.bits(random.key(1), [WORDS]), { engine })();
  const randomWords = (await words.read()) as Uint32Array;
  const compiled = compile(step, { engine });
  const times: number[] = [];
  const losses: number[] = [];
  let now = state;
  for (let i = 0; i < steps; i++) {
    const start = clock.now();
    const result = compiled(now, x, labels);
    losses.push(await result.loss.item());
    times.push(clock.now() - start);
    now = result.state;
  }
  const [firstMs = 0, ...others] = times;
  const sorted = others.sort((a, b) => a - b);
  return { firstMs, stepMs: sorted[Math.floor(sorted.length / 2)] ?? 0, losses, randomWords };
}
