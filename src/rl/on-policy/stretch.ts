import type { Request, Span } from "../../trainer/index.ts";

/** Where a train segment stands: the first of its updates among those of the rollout, and how many these are. */
export interface UpdatePlace {
  readonly first: number;
  readonly of: number;
}

/** An epoch, or a part of one, within a call. */
export interface Stretch {
  /** 1 where it begins with a rollout. */
  readonly rollouts: number;
  /** Updates of the rollout: the first, and how many. */
  readonly from: number;
  readonly count: number;
  /** Repeats of the call before it. */
  readonly row: number;
  readonly rolloutSpan: Span | undefined;
  readonly trainSpan: Span | undefined;
}

/** A call's spans as stretches: a rollout and the updates behind it, either of which may be missing. */
export function stretchesOf({ spans }: Request): readonly Stretch[] {
  const found: Stretch[] = [];
  let row = 0;
  for (const span of spans) {
    const last = found.at(-1);
    if (span.segment.phase === "rollout")
      found.push({ rollouts: 1, from: 0, count: 0, row, rolloutSpan: span, trainSpan: undefined });
    else {
      const from = (span.segment.data as UpdatePlace).first + span.from;
      const train = { from, count: span.count, trainSpan: span };
      if (last && last.trainSpan === undefined) found[found.length - 1] = { ...last, ...train };
      else found.push({ rollouts: 0, row, rolloutSpan: undefined, ...train });
    }
    row += span.count;
  }
  return found;
}

/**
 * Where the values of a stretch's updates stand among those that `learn` gives: [updateEpochs, minibatches], each
 * filled from its beginning.
 */
export function placesOf({ from, count }: Pick<Stretch, "from" | "count">, minibatches: number): number[] {
  const first = Math.floor(from / minibatches);
  return Array.from({ length: count }, (_, k) => {
    const epoch = Math.floor((from + k) / minibatches) - first;
    const within = ((from + k) % minibatches) - (epoch === 0 ? from % minibatches : 0);
    return epoch * minibatches + within;
  });
}

/** Whether a call does the last update from a rollout. */
export function endsRollout(stretches: readonly Stretch[]): boolean {
  const last = stretches.at(-1);
  const place = last?.trainSpan?.segment.data as UpdatePlace | undefined;
  return last !== undefined && place !== undefined && last.from + last.count === place.of;
}
