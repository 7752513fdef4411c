import { type Clock, tableLines, treeMap } from "../../core/index.ts";
import {
  compile,
  type EngineName,
  engine as engineOf,
  np,
  random,
  type Value,
  valueAndGrad,
} from "../../engine/index.ts";

/** How far losses may lie apart on two engines, as a share of the larger one. */
const TOLERANCE = 1e-3;
/** GPUs and TPUs round the factors of matrix products to fewer digits by default. */
const ROUGH_TOLERANCE = 5e-2;
/** Losses under this are as good as zero, and their differences are, too. */
const SMALL = 1e-2;
/** The share of the first loss that the last may have. */
const LEARNED = 0.5;

/** What was measured on one engine. */
export interface Measured {
  readonly engine: EngineName;
  readonly description: string;
  /** The kind of its devices: `cpu`, `cuda`, ... */
  readonly kind: string;
  readonly devices: readonly string[];
  readonly training: Training;
}

/** What a check found. */
export interface CheckReport {
  readonly steps: number;
  readonly measured: readonly Measured[];
  /** Undefined where there are no two engines to compare. */
  readonly agreement: Agreement | undefined;
  /** Why it fails; empty where it does not. */
  readonly failures: readonly string[];
  /** What is missing without being asked for. */
  readonly notes: readonly string[];
}

export interface Agreement {
  /** The largest difference of two losses at the same step, as a share of the larger one. */
  readonly losses: number;
  /** The most that is right. */
  readonly tolerance: number;
  readonly randomBits: boolean;
}

export interface CheckOptions {
  readonly engines: readonly EngineName[];
  /** Engines that must be there: a missing one is a failure, else only said. */
  readonly required: readonly EngineName[];
  readonly steps: number;
  readonly clock: Clock;
}

/** Trains a small net on each engine and compares what comes out. */
export async function check({ engines, required, steps, clock }: CheckOptions): Promise<CheckReport> {
  const measured: Measured[] = [];
  const failures: string[] = [];
  const notes: string[] = [];
  for (const engine of engines) {
    try {
      const { description, devices } = engineOf(engine);
      const training = await train(engine, steps, clock);
      const names = devices.map((device) => device.description);
      measured.push({ engine, description, kind: devices[0]?.kind ?? "", devices: names, training });
    } catch (error) {
      const text = `${engine}: ${error instanceof Error ? error.message : String(error)}`;
      const missing = error instanceof Error && "code" in error && error.code === "XLA_UNAVAILABLE";
      (missing && !required.includes(engine) ? notes : failures).push(text);
    }
  }
  const [first, second] = measured;
  const agreement = first && second && agreementOf(first, second);
  failures.push(...measured.flatMap(learningFailures), ...agreementFailures(agreement));
  return { steps, measured, agreement, failures, notes };
}

export function agreementOf(one: Measured, other: Measured): Agreement {
  const [a, b] = [one.training, other.training];
  const differences = a.losses.map((loss, i) => {
    const opposite = b.losses[i] ?? Number.NaN;
    return Math.abs(loss - opposite) / Math.max(Math.abs(loss), Math.abs(opposite), SMALL);
  });
  return {
    // NaN wherever a comparison cannot be made: it must not pass.
    losses: Math.max(0, ...differences),
    tolerance: one.kind === "cpu" && other.kind === "cpu" ? TOLERANCE : ROUGH_TOLERANCE,
    randomBits:
      a.randomWords.length === b.randomWords.length && a.randomWords.every((w, i) => w === b.randomWords[i]),
  };
}

export function learningFailures({ engine, training: { losses } }: Measured): readonly string[] {
  const [first = Number.NaN] = losses;
  const last = losses.at(-1) ?? Number.NaN;
  if (last <= first * LEARNED) return [];
  return [`${engine}: it does not learn: the loss goes from ${first} to ${last}`];
}

export function agreementFailures(agreement: Agreement | undefined): readonly string[] {
  if (!agreement) return [];
  const { losses, tolerance, randomBits } = agreement;
  return [
    ...(losses <= tolerance
      ? []
      : [`the engines' losses lie apart by ${losses}; at most ${tolerance} is right`]),
    ...(randomBits ? [] : ["the engines' random bits differ"]),
  ];
}

/** A report for machines: figures instead of every loss. */
export function summary({ measured, agreement, ...rest }: CheckReport): object {
  return {
    net: NET,
    ...rest,
    engines: measured.map(({ training, ...about }) => ({
      ...about,
      compileMs: training.firstMs,
      stepMs: training.stepMs,
      firstLoss: training.losses[0],
      lastLoss: training.losses.at(-1),
    })),
    agreement,
  };
}

/** What `espalier engine check` prints. */
export function checkText({ steps, measured, agreement, failures, notes }: CheckReport): string {
  const rows = measured.map(({ engine, devices, training }) => [
    engine,
    String(devices.length),
    milliseconds(training.firstMs),
    milliseconds(training.stepMs),
    (training.losses[0] ?? Number.NaN).toFixed(5),
    (training.losses.at(-1) ?? Number.NaN).toFixed(5),
  ]);
  return [
    `${NET}, ${steps} steps, the loss read after each`,
    "",
    ...tableLines([["engine", "devices", "compile", "a step", "first loss", "last loss"], ...rows]),
    "",
    ...measured.map(({ engine, description, devices }) => `${engine}: ${description}: ${devices.join(", ")}`),
    ...(agreement ? [agreementText(agreement)] : []),
    ...notes.map((note) => `not checked: ${note}`),
    ...failures.map((failure) => `failed: ${failure}`),
  ].join("\n");
}

const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(3) : ms.toFixed(0)} ms`;

const agreementText = ({ losses, tolerance, randomBits }: Agreement): string =>
  `between engines: losses differ by at most ${losses.toExponential(1)} of their size ` +
  `(${tolerance} is allowed), random bits ${randomBits ? "are equal" : "differ"}`;

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
