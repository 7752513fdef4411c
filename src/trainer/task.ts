import { didYouMean, EspalierError, messageOf } from "../core/index.ts";
import type { Tensor } from "../engine/index.ts";
import type { AverageOptions } from "../learner/index.ts";
import type { RandomStreams } from "../random/index.ts";
import { type Counters, noCounters, type Ramp } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { TrainerHook } from "./events.ts";
import type { RankGroup } from "./ranks.ts";

// The contract of tasks, and the checks of what they give.

/** The phases of an epoch. */
export type Phase = "rollout" | "train";

/** A part of an epoch: the same work, repeated. */
export interface Segment {
  readonly phase: Phase;
  readonly repeats: number;
  /**
   * The amounts that each repeat adds to the counters, in whole numbers. A train repeat is one batch:
   * `batches: 1` is understood, and so are the steps.
   */
  readonly adds: Readonly<Record<string, number>>;
  /** True where the task can run its end and the start of what follows (another segment, the next epoch) in one call. */
  readonly fusesWithNext: boolean;
  /** The most repeats a call that contains it can take, those of other segments included: 1 where fusing does not pay. */
  readonly maxFuse: number;
  /** For the task's own use. */
  readonly data?: unknown;
}

/** Some repeats of a segment. */
export interface Span {
  readonly segment: Segment;
  /** The index of the segment within its epoch, and of the first repeat within the segment. */
  readonly index: number;
  readonly from: number;
  readonly count: number;
  /** Counters before its first repeat. */
  readonly at: Counters;
}

/** The work of one call. No hook is due for anything that lies between. */
export interface Request {
  readonly at: Counters;
  /** In order; more than one only where segments say that they fuse. */
  readonly spans: readonly Span[];
  /** Repeats in all spans together. */
  readonly count: number;
  /** The value of each ramp at every repeat: `count` numbers, in order. The arrays are the trainer's: read them during the call. */
  readonly ramps: Readonly<Record<string, Float32Array>>;
  readonly signal: AbortSignal;
  /** Is aborted where the run is to end in good order: a call that waits for others may end with what it has. */
  readonly stopping?: AbortSignal;
}

/** The results of a call, left on the device. */
export interface Report {
  /**
   * By name, one row per train repeat: the leading axis is the repeat. It may be longer than the request; the first
   * rows count. Where the request has rollouts alone, one row per rollout repeat.
   */
  readonly metrics: Readonly<Record<string, Tensor>>;
  /** In a call with rollouts and batches: metrics of the rollouts, one row per rollout repeat. */
  readonly rollout?: Readonly<Record<string, Tensor>>;
  /** One row per train repeat: updates that took effect (0 or 1 where a repeat is one update), as `skipNonFinite` counts them. */
  readonly applied?: Tensor;
  /**
   * For `onNonFinite`; without it nothing is checked. `first` is one i32 on the device: the index of the first train
   * repeat whose loss or parameters were not finite, -1 while all were. It is carried from call to call, so that the
   * newest tells of all. `from` is the index of this call's first train repeat.
   */
  readonly nonFinite?: { readonly first: Tensor; readonly from: number };
  /**
   * Amounts that rollouts added to counters of the task's own and that no segment could know beforehand (`episodes`):
   * by name, one whole number per rollout repeat. Schedules in such a unit are asked after each rollout.
   */
  readonly counted?: Readonly<Record<string, ArrayLike<number>>>;
  /** Repeats done where the data ended early; the rest of the epoch is left out. Metrics have that many rows. */
  readonly exhausted?: number;
}

/** States frozen at one step, for evaluation and checkpoints. */
export interface Frozen {
  readonly components: Readonly<Record<string, StateTree>>;
}

/** A plain value of a set-up. */
export type Setting =
  | string
  | number
  | boolean
  | null
  | readonly Setting[]
  | { readonly [name: string]: Setting };

/** Settings in plain values, as checkpoints store and compare them. */
export type Settings = Readonly<Record<string, Setting>>;

/**
 * The work of one kind of training. The trainer asks what an epoch consists of and has it done, call by call; the task
 * keeps its numbers on the device and knows nothing of hooks, files or logs.
 */
export interface Task {
  /** Parameters, optimizer, data position, environments, buffers: everything that decides how it goes on. */
  readonly components: Readonly<Record<string, Stateful>>;
  readonly sampleUnit: "examples" | "tokens" | "agentSteps";
  /** The counter that "steps" means for this task. */
  readonly stepUnit: "updates" | "samples" | "batches";
  /** The components that predictions need: parameters, running statistics. Default: `params`, or all without it. */
  readonly model?: readonly string[];
  /** Components that updates change beside those of `model` and `optimizer`: a target network. */
  readonly learned?: readonly string[];
  /** Learning rate, loss weights, clip range: inputs of the compiled program. */
  readonly ramps: Readonly<Record<string, Ramp>>;
  /**
   * The part of its set-up that a resumed run must share to go on with the same bits, in plain values: the batch size,
   * the number of examples. Stored with checkpoints and compared.
   */
  readonly settings?: Settings;
  /** Stored with checkpoints and not compared: what programs that use the result need, such as the model's recipe. */
  readonly about?: Settings;
  /**
   * Counters of its own (`episodes`), from 0: schedules understand them as units. Segments' `adds` name them, or
   * reports say afterwards what was `counted`.
   */
  readonly counters?: readonly string[];
  /** Hooks that come with it, its losses' among them. */
  readonly hooks?: readonly TrainerHook[];
  /** Keeps a moving average of the parameters, as the component `ema`, from the first update on: for `emaHook`. */
  average?(options: AverageOptions): void;
  /** True where ranks can train it together: it sums its gradients by the `ranks` that `begin` gets. */
  readonly trainsOnRanks?: boolean;
  /** Called once, before `onTrainingStart`. `warn` takes messages that do not stop the run. */
  begin?(run: {
    readonly config: TrainingConfig;
    readonly random: RandomStreams;
    readonly warn: (text: string) => void;
    readonly ranks?: RankGroup | undefined;
  }): void | Promise<void>;
  /** Called once, when all work is done and before `onTrainingEnd`; not where the run has failed. */
  end?(): void | Promise<void>;
  /** The segments of an epoch, from its beginning: the same answer each time it is asked for one epoch. */
  epoch(at: Counters): readonly Segment[];
  /** Does the work of one call. */
  run(request: Request): Report | Promise<Report>;
  /** Metrics on held-out data. */
  validate?(context: {
    readonly counters: Counters;
    readonly signal: AbortSignal;
  }): Promise<Readonly<Record<string, number>>>;
  /** The states of these components (all where none are named), frozen at this step. */
  snapshot(components?: readonly string[]): Frozen | Promise<Frozen>;
}

/**
 * Implements a task's `snapshot`: the states of some of its components. Tensors never change, so they are frozen as they
 * are. `kind` is the name of the task in errors.
 *
 * @example
 * ```ts
 * snapshot: (names = Object.keys(components)) => frozenStates("myTask", components, names),
 * ```
 */
export function frozenStates(
  kind: string,
  components: Readonly<Record<string, Stateful>>,
  names: readonly string[],
): Frozen | Promise<Frozen> {
  const states = names.map((name) => {
    const part = components[name];
    if (part) return part.getState();
    throw new EspalierError(
      "COMPONENT_UNKNOWN",
      `${kind}: there is no component "${name}"${didYouMean(name, Object.keys(components))}`,
      { fix: `the components are ${Object.keys(components).join(", ")}` },
    );
  });
  const named = (all: readonly StateTree[]): Frozen => ({
    components: Object.fromEntries(names.map((name, i) => [name, all[i] as StateTree])),
  });
  return states.some((part) => part instanceof Promise)
    ? Promise.all(states).then(named)
    : named(states as readonly StateTree[]);
}

/** Refuses a task that does not fulfil the contract. */
export function checkTask(task: Task): Task {
  for (const name of ["epoch", "run", "snapshot"] as const)
    if (typeof task?.[name] !== "function")
      throw new EspalierError("TASK_INVALID", `the task has no function "${name}"`, {
        fix: "give a task such as supervisedTask({ ... }), or write one with epoch, run and snapshot",
      });
  if (!["updates", "samples", "batches"].includes(task.stepUnit))
    throw new EspalierError("TASK_INVALID", `the task's stepUnit is "${task.stepUnit}"`, {
      fix: 'write "updates", "samples" or "batches"',
    });
  for (const name of Object.keys(task.components))
    if (["trainer", "time", "random", "slots"].includes(name) || /^(hook|ramp|validate)\./.test(name))
      throw new EspalierError(
        "TASK_INVALID",
        `the task has a component "${name}", as the trainer itself has`,
        { fix: "give the task's component another name" },
      );
  return task;
}

/** The components that predictions need. */
export function modelOf({ model, components }: Task): readonly string[] {
  const own = model ?? ("params" in components ? ["params"] : Object.keys(components));
  return "ema" in components && !own.includes("ema") ? [...own, "ema"] : own;
}

/** The components that updates change. */
export function learnedBy(task: Task): readonly string[] {
  const { learned, components } = task;
  const optimizer = "optimizer" in components ? ["optimizer"] : [];
  return [...new Set([...modelOf(task), ...optimizer, ...(learned ?? [])])];
}

/** Counters that only the trainer moves. */
const reserved = ["epoch", "epochs", "seconds", "steps"];

/** A run before its first batch, the task's own counters included. */
export function firstCounters(task: Task): Counters {
  return { ...noCounters, ...Object.fromEntries((task.counters ?? []).map((name) => [name, 0])) };
}

/** The segments of an epoch, checked, with `batches: 1` and the steps filled in. */
export function segmentsOf(task: Task, at: Counters): readonly Segment[] {
  return task.epoch(at).map((segment, index) => {
    const { phase, repeats, maxFuse, adds } = segment;
    if (phase !== "rollout" && phase !== "train")
      throw badSegment(index, `its phase is "${phase}"`, 'write "rollout" or "train"');
    if (!isCount(repeats))
      throw badSegment(index, `it has ${repeats} repeats`, "give a whole number from 0 on");
    if (!(maxFuse >= 1)) throw badSegment(index, `its maxFuse is ${maxFuse}`, "give 1 or more");
    for (const [name, amount] of Object.entries(adds)) {
      if (reserved.includes(name) || !(name in at)) {
        const known = Object.keys(at).filter((each) => !reserved.includes(each));
        throw badSegment(
          index,
          `it adds to "${name}"${didYouMean(name, known)}`,
          `add to ${known.join(", ")}, or list the task's own counters in its \`counters\``,
        );
      }
      if (!isCount(amount))
        throw badSegment(index, `it adds ${amount} to ${name}`, "add whole numbers from 0 on");
    }
    const all: Readonly<Record<string, number>> = phase === "train" ? { batches: 1, ...adds } : { ...adds };
    return { ...segment, adds: { ...all, steps: all[task.stepUnit] ?? 0 } };
  });
}

/** True where an epoch has nothing to do. */
export const isEmpty = (segments: readonly Segment[]): boolean =>
  segments.every(({ repeats }) => repeats === 0);

/** The first segment from an index on that has anything to do. */
export function firstBusy(segments: readonly Segment[], from: number): number {
  let index = from;
  while (segments[index]?.repeats === 0) index++;
  return index;
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const badSegment = (index: number, what: string, fix: string): EspalierError =>
  new EspalierError("TASK_INVALID", `segment ${index} of the task's epoch cannot be run: ${what}`, { fix });

/** A task's failure with the counters at which it happened. Espalier's own errors stay as they are. */
export function taskFailed(what: "run" | "validate" | "epoch", at: Counters, cause: unknown): unknown {
  if (cause instanceof EspalierError) return cause;
  const message = messageOf(cause);
  return new EspalierError(
    "TASK_FAILED",
    `the task's ${what} failed in epoch ${at.epoch} after ${at.batches} batches: ${message}`,
    { cause, fix: "see the cause; the task must give a report or throw an error that says what to do" },
  );
}
