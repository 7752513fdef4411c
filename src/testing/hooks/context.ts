import { type Clock, manualClock } from "../../core/index.ts";
import { put, type Tensor } from "../../engine/index.ts";
import type { Slot, SlotAccess } from "../../hooks/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { type Counters, noCounters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import {
  type TrainerContext,
  type TrainerEvent,
  type TrainerState,
  type TrainingConfig,
  trainingConfig,
  type Values,
} from "../../trainer/index.ts";
import type { Logged } from "./recorded.ts";

/** What a lone context is to say; the rest is that of a run before its first batch. */
export interface HookContextOptions {
  /** Default `onEpochEnd`, and `onBatchesEnd` where values are given. */
  readonly event?: TrainerEvent;
  /** Default 0 each. */
  readonly counters?: Readonly<Record<string, number>>;
  /** The counters when the event last happened. Left out: the moment stands alone. */
  readonly since?: Readonly<Record<string, number>>;
  /** What the last batch reported: `state.metrics()` gives it, and in `onBatchesEnd` so do the `values`. */
  readonly values?: Readonly<Record<string, number>>;
  /** Metrics of the last validation. */
  readonly validation?: Readonly<Record<string, number>>;
  readonly phase?: TrainerState["phase"];
  /** What other hooks have provided: pairs of slot and value. */
  readonly slots?: readonly (readonly [Slot, unknown])[];
  readonly components?: Readonly<Record<string, Stateful>>;
  readonly config?: Partial<TrainingConfig>;
  readonly clock?: Clock;
  readonly error?: unknown;
  readonly outcome?: TrainerContext["outcome"];
  readonly reason?: string;
}

/** A context that keeps what a handler did with it. */
export interface LoneContext extends TrainerContext {
  /** What was logged, in order. */
  readonly logged: readonly Logged[];
  /** The reasons given to `stop`. */
  readonly stops: readonly string[];
  /** Waits for what was given to `afterEvent` and `inBackground`; the first failure is raised. */
  settle(): Promise<void>;
}

/**
 * A context for a lone call of a handler. No trainer, no mocks.
 *
 * @example
 * ```ts
 * const context = hookContext({ event: "onEpochEnd", counters: { epochs: 10 }, slots: [[evaluationScores, scores]] });
 * await hook.onEpochEnd?.(context);
 * assert.deepEqual(context.logged[0]?.values, { best: 0.9 });
 * ```
 */
export function hookContext(options: HookContextOptions = {}): LoneContext {
  const { clock = manualClock(), components = {}, phase = "none", error, outcome, reason } = options;
  const config = trainingConfig(options.config);
  const counters: Counters = { ...noCounters, ...options.counters };
  const event = options.event ?? (options.values ? "onBatchesEnd" : "onEpochEnd");
  const values =
    options.values && event === "onBatchesEnd" ? hostValues(options.values, counters) : undefined;
  const logged: Logged[] = [];
  const stops: string[] = [];
  const works: Promise<unknown>[] = [];
  return {
    event,
    counters,
    since: options.since && { ...noCounters, ...options.since },
    rank: config.rank,
    slots: openSlots(options.slots ?? []),
    log: (given, category) => void logged.push({ hook: "", values: given, category, counters }),
    clock,
    signal: new AbortController().signal,
    stop: (why) => void stops.push(why),
    endTogether: () => () => undefined,
    afterEvent: (work) => void works.push(Promise.resolve().then(work)),
    inBackground: (work) => void works.push(work),
    settle: async () => {
      while (works.length > 0) await works.shift();
    },
    settings: {},
    state: {
      counters,
      phase,
      epochShare: 0,
      metrics: async () => ({ ...options.values }),
      values,
      validation: options.validation,
      rank: config.rank,
      seed: config.seed,
      run: config.name,
    },
    config,
    sampleUnit: "examples",
    values,
    components,
    snapshot: (names = Object.keys(components)) => frozen(components, names),
    random: new RandomStreams(config.seed),
    timings: { rollout: none, train: none, fused: none, validation: none },
    hookTimings: [],
    error,
    outcome,
    reason,
    logged,
    stops,
  };
}

const none = { calls: 0, seconds: 0 };

/** Slots as every hook may use them; what was given at first is what was there before the event. */
function openSlots(given: readonly (readonly [Slot, unknown])[]): SlotAccess {
  const before = new Map(given.map(([{ name }, value]) => [name, value]));
  const now = new Map(before);
  return {
    get: (slot) => now.get(slot.name) as never,
    previous: (slot) => before.get(slot.name) as never,
    set: (slot, value) => void now.set(slot.name, value),
    isWanted: () => true,
  };
}

/** Values of one batch that lie in memory. A tensor is made where somebody asks for one. */
function hostValues(given: Readonly<Record<string, number>>, counters: Counters): Values {
  const names = Object.keys(given);
  return {
    count: 1,
    names,
    rows: (name) => (names.includes(name) ? 1 : 0),
    spans: [{ phase: "train", from: 0, rows: 1 }],
    phase: () => "train",
    at: () => counters,
    applied: undefined,
    ramps: {},
    tensor: (name): Tensor | undefined =>
      names.includes(name) ? put([given[name] as number], { engine: "wasm" }) : undefined,
    read: async () => Object.fromEntries(names.map((name) => [name, Float32Array.of(given[name] as number)])),
    last: async () => ({ ...given }),
  };
}

async function frozen(components: Readonly<Record<string, Stateful>>, names: readonly string[]) {
  const states: (readonly [string, StateTree])[] = [];
  for (const name of names) states.push([name, (await components[name]?.getState()) ?? null]);
  return { components: Object.fromEntries(states) };
}
