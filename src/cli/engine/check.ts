import { type Clock, tableLines } from "../../core/index.ts";
import {
  compile,
  type EngineName,
  engine as engineOf,
  np,
  random,
  spec,
  type Value,
  valueAndGrad,
} from "../../engine/index.ts";
import * as nn from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";

/** Largest difference of losses on two engines, as a share of the larger one. */
const TOLERANCE = 1e-3;
/** GPUs and TPUs round the factors of matrix products to fewer digits by default. */
const ROUGH_TOLERANCE = 5e-2;
/** Losses under this are as good as zero, and their differences are, too. */
const SMALL = 1e-2;
/** The share of the first loss that the last may have. */
const LEARNED = 0.5;

export type Measured = Awaited<ReturnType<typeof measure>>;

type CheckReport = Awaited<ReturnType<typeof check>>;

type Agreement = ReturnType<typeof agreementOf>;

interface CheckOptions {
  readonly engines: readonly EngineName[];
  /** Engines that must be there: a missing one is a failure, else only said. */
  readonly required: readonly EngineName[];
  readonly steps: number;
  readonly clock: Clock;
}

/** Trains a small net on each engine and compares what comes out. */
export async function check({ engines, required, steps, clock }: CheckOptions) {
  const measured: Measured[] = [];
  const failures: string[] = [];
  const notes: string[] = [];
  for (const engine of engines) {
    try {
      measured.push(await measure(engine, steps, clock));
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

async function measure(engine: EngineName, steps: number, clock: Clock) {
  const { description, devices } = engineOf(engine);
  const training = await train(engine, steps, clock);
  const [first] = devices;
  return {
    engine,
    description,
    kind: first?.kind ?? "",
    devices: devices.map((d) => d.description),
    training,
  };
}

export function agreementOf(one: Measured, other: Measured) {
  const [a, b] = [one.training, other.training];
  const differences = a.losses.map((loss, i) => {
    const opposite = b.losses[i] ?? Number.NaN;
    return Math.abs(loss - opposite) / Math.max(Math.abs(loss), Math.abs(opposite), SMALL);
  });
  return {
    // The largest difference as a share of the larger loss. NaN where nothing can be compared: it must not pass.
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

const NET = "MLP 4-64-64-2, batch 64, Adam";

const BATCH = 64;
const WORDS = 1024;

export type Training = Awaited<ReturnType<typeof train>>;

/** Points and their labels, which say on which side of a curved surface a point is. */
function examples(): { x: Value; labels: Value } {
  const x = random.uniform(random.key(0), [BATCH, 4], { min: -1, max: 1 });
  const inside = np.less(np.sum(np.square(x), { axis: 1 }), 4 / 3);
  return { x, labels: np.oneHot(np.astype(inside, "i32"), 2) };
}

/** Trains for some steps on one engine, reading the loss of each. */
export async function train(engine: EngineName, steps: number, clock: Clock) {
  const model = nn.mlp({ hidden: [64, 64], out: 2, activation: np.tanh });
  const optimizer = optim.adam({ learningRate: 3e-3 });
  const lossOf = (params: nn.Params, x: Value, labels: Value): Value => {
    const logits = model.apply(params, x);
    const chosen = np.sum(np.multiply(logits, labels), { axis: 1 });
    return np.mean(np.subtract(np.logsumexp(logits, { axis: 1 }), chosen));
  };
  const step = (params: nn.Params, state: optim.OptimizerState, x: Value, labels: Value) => {
    const [loss, grads] = valueAndGrad(lossOf)(params, x, labels);
    const next = optimizer.update(grads, state, params);
    return { loss, params: optim.applyUpdates(params, next.updates), state: next.state };
  };
  const { x, labels } = compile(examples, { engine })();
  let params = model.init(0, spec([BATCH, 4]), { engine });
  let state = compile(optimizer.init, { engine })(params);
  const words = compile(() => random.bits(random.key(1), [WORDS]), { engine })();
  const randomWords = (await words.read()) as Uint32Array;
  const compiled = compile(step, { engine });
  const times: number[] = [];
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    const start = clock.now();
    const result = compiled(params, state, x, labels);
    losses.push(await result.loss.item());
    times.push(clock.now() - start);
    ({ params, state } = result);
  }
  const [firstMs = 0, ...others] = times;
  const sorted = others.sort((a, b) => a - b);
  // The first step with tracing and compilation; the median of those after it, each with its loss read.
  return {
    firstMs,
    stepMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    losses: losses as readonly number[],
    randomWords,
  };
}
