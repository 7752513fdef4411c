import type { EspalierError } from "../../core/index.ts";
import type { Tensor } from "../../engine/index.ts";
import type { Stateful } from "../../state/index.ts";
import type { Report, Request, Span } from "../../trainer/index.ts";
import type { LessonResult } from "../curriculum/curriculum.ts";

/**
 * Collects rollouts and does the updates from them: {@link CompiledCollector} in one program with the environments,
 * {@link HostCollector} with environments in JavaScript.
 */
export interface Collector {
  readonly components: Readonly<Record<string, Stateful>>;
  /** The most repeats of a call. */
  readonly maxFuse: number;
  /** A call can go on into the next epoch. */
  readonly fusesEpochs: boolean;
  /** Starts new episodes from another key. */
  restart(key: Uint32Array): void;
  /** Does the rollouts and updates of a call. */
  run(request: Request, chunks: readonly Chunk[], losses: ActiveLosses): CallResult;
}

/** The active losses of a call, by phase. */
export interface ActiveLosses {
  readonly rollout: readonly string[];
  readonly train: readonly string[];
}

/** Keeps what is made for each pair of sets of losses. */
export function perLosses<T>(make: (losses: ActiveLosses) => T): (losses: ActiveLosses) => T {
  const made = new Map<string, T>();
  return (losses) => {
    const name = JSON.stringify([losses.rollout, losses.train]);
    const known = made.get(name) ?? make(losses);
    made.set(name, known);
    return known;
  };
}

/** The result of a call. */
export interface CallResult {
  /** One row an update. */
  readonly metrics: Readonly<Record<string, Tensor>>;
  /** One row a rollout: episodes, episode.return, episode.length. */
  readonly rollout: Readonly<Record<string, Tensor>>;
  /** Of calls with updates: see {@link Report}. */
  readonly nonFinite?: Report["nonFinite"];
  /** [rollouts, lessons, 3] on the device, where lessons are counted there. */
  readonly lessons?: Tensor | undefined;
  /** Of compiled environments: i32 [rollouts] on the device, from 0 on where a number was not finite. */
  readonly fault?:
    | { readonly found: Tensor; error(rollout: number, code: number): EspalierError }
    | undefined;
  /** Results that the host has already. */
  readonly counted?: {
    readonly episodes: readonly number[];
    readonly lessons: readonly LessonResult[];
    /** Metrics of the rollout. */
    readonly metrics: Readonly<Record<string, number>>;
  };
}

/** The position of a train segment: the first of its updates among those of the rollout, and the number of these. */
export interface UpdateSegment {
  readonly first: number;
  readonly of: number;
}

/** An epoch, or a part of one, within a call: a rollout and updates from it, either of which may be missing. */
export interface Chunk {
  /** 1 if it begins with a rollout, else 0. */
  readonly rollouts: number;
  /** The first update, counted from the rollout, and the number of updates. */
  readonly from: number;
  readonly count: number;
  /** Repeats of the call before it. */
  readonly row: number;
  readonly rolloutSpan: Span | undefined;
  readonly trainSpan: Span | undefined;
}

/** The chunks of a call. */
export function chunksOf({ spans }: Pick<Request, "spans">): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let row = 0;
  for (const span of spans) {
    const last = chunks.at(-1);
    if (span.segment.phase === "rollout")
      chunks.push({ rollouts: 1, from: 0, count: 0, row, rolloutSpan: span, trainSpan: undefined });
    else {
      const from = (span.segment.data as UpdateSegment).first + span.from;
      const train = { from, count: span.count, trainSpan: span };
      if (last && last.trainSpan === undefined) chunks[chunks.length - 1] = { ...last, ...train };
      else chunks.push({ rollouts: 0, row, rolloutSpan: undefined, ...train });
    }
    row += span.count;
  }
  return chunks;
}

/** The positions of a chunk's updates in the metrics [updateEpochs, minibatches] of `learn`. */
export function updatePositions(
  { from, count }: Pick<Chunk, "from" | "count">,
  minibatches: number,
): number[] {
  const first = Math.floor(from / minibatches);
  return Array.from({ length: count }, (_, k) => {
    const epoch = Math.floor((from + k) / minibatches) - first;
    const within = ((from + k) % minibatches) - (epoch === 0 ? from % minibatches : 0);
    return epoch * minibatches + within;
  });
}

/** True if a call does the last update from a rollout. */
export function endsRollout(chunks: readonly Chunk[]): boolean {
  const last = chunks.at(-1);
  const segment = last?.trainSpan?.segment.data as UpdateSegment | undefined;
  return last !== undefined && segment !== undefined && last.from + last.count === segment.of;
}
