import { EspalierError, type ManualClock } from "../../core/index.ts";
import { put } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import type { Phase, Report, Request, Segment, Task } from "../../trainer/index.ts";

/** What happens in a scripted run. */
export interface Script {
  /** Default 1. */
  readonly epochs?: number;
  /** Batches an epoch. Default 10. */
  readonly batches?: number;
  /** Default 1. */
  readonly samplesPerBatch?: number;
  /** Samples that a rollout before the batches of each epoch gathers; `true` for as many as the batches use. */
  readonly rollout?: boolean | number;
  /** Metrics of a validation at the end of each epoch: always the same, or by counters. Left out: none. */
  readonly validation?: Numbers | ((counters: Counters) => Numbers);
  /** What each batch reports, by the counters after it. Default: a loss that falls. */
  readonly values?: (counters: Counters) => Numbers;
  /** What each rollout reports, by the counters after it. Default: nothing. */
  readonly rolloutValues?: (counters: Counters) => Numbers;
  /** The batch, from 1, whose work fails. */
  readonly failAt?: number;
  /** By how much the clock moves with each batch. Default 0.1. */
  readonly secondsPerBatch?: number;
  /** States beside those of trainer and hooks, for hooks that read them. */
  readonly components?: Readonly<Record<string, Stateful>>;
}

type Numbers = Readonly<Record<string, number>>;

/** A task that does what the script says and computes nothing. */
export function scriptedTask(script: Script, clock: ManualClock): Task {
  const { batches = 10, samplesPerBatch = 1, validation, failAt, components = {} } = script;
  const { values = fallingLoss, rolloutValues, secondsPerBatch = 0.1 } = script;
  const gathered = script.rollout === true ? batches * samplesPerBatch : Number(script.rollout ?? 0);
  const shared = { fusesWithNext: true, maxFuse: 1000 };
  const rollout: Segment = { phase: "rollout", repeats: 1, adds: { samples: gathered }, ...shared };
  const adds = { updates: 1, samples: gathered > 0 ? 0 : samplesPerBatch };
  const train: Segment = { phase: "train", repeats: batches, adds, ...shared };

  return {
    components,
    sampleUnit: "examples",
    stepUnit: "updates",
    ramps: {},
    epoch: () => (gathered > 0 ? [rollout, train] : [train]),
    run(request) {
      clock.advance(request.count * secondsPerBatch * 1000);
      const rows: Numbers[] = [];
      const rollouts: Numbers[] = [];
      for (const { phase, counters } of repeatsOf(request)) {
        if (phase === "rollout") {
          if (rolloutValues) rollouts.push(rolloutValues(counters));
          continue;
        }
        if (counters.batches === failAt)
          throw new EspalierError("SCRIPTED_FAILURE", `batch ${failAt} was to fail`, {
            fix: "leave out failAt",
          });
        rows.push(values(counters));
      }
      if (rows.length === 0) return { metrics: columns(rollouts) };
      return { metrics: columns(rows), ...(rollouts.length > 0 && { rollout: columns(rollouts) }) };
    },
    ...(validation && {
      validate: async ({ counters }) =>
        typeof validation === "function" ? validation(counters) : validation,
    }),
    async snapshot(names = Object.keys(components)) {
      const states = names.map(async (name) => [name, (await components[name]?.getState()) ?? null] as const);
      return { components: Object.fromEntries(await Promise.all(states)) };
    },
  };
}

const fallingLoss = ({ batches }: Counters): Numbers => ({ loss: 1 / batches });

/** The counters after each repeat of a request. */
function* repeatsOf({ spans }: Request): Generator<{ readonly phase: Phase; readonly counters: Counters }> {
  for (const { segment, count, at } of spans) {
    const { phase, adds } = segment;
    const batch = phase === "train" ? 1 : 0;
    for (let i = 1; i <= count; i++) {
      const updates = at.updates + i * (adds.updates ?? 0);
      const samples = at.samples + i * (adds.samples ?? 0);
      yield { phase, counters: { ...at, batches: at.batches + i * batch, updates, steps: updates, samples } };
    }
  }
}

/** One tensor a name, with a row for each repeat. */
function columns(rows: readonly Numbers[]): Report["metrics"] {
  const names = Object.keys(rows[0] ?? {});
  const column = (name: string): Float32Array => Float32Array.from(rows, (row) => row[name] ?? Number.NaN);
  return Object.fromEntries(names.map((name) => [name, put(column(name), { engine: "wasm" })]));
}
