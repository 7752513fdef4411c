import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noCounters } from "../../schedule/index.ts";
import type { Request, Segment, Span } from "../../trainer/index.ts";
import { chunksOf, endsRollout, type UpdateSegment, updatePositions } from "./collect.ts";

const segment = (phase: Segment["phase"], repeats: number, data?: UpdateSegment): Segment => ({
  ...{ phase, repeats, adds: {}, fusesWithNext: true, maxFuse: 99 },
  ...(data && { data }),
});
const rollout = segment("rollout", 1);
const train = (first: number, repeats: number, of = 8) => segment("train", repeats, { first, of });
const span = (segment: Segment, from: number, count: number): Span => ({
  ...{ segment, from, count, index: 0, at: noCounters },
});
const found = (...spans: Span[]) => {
  const count = spans.reduce((sum, { count }) => sum + count, 0);
  const chunks = chunksOf({
    at: noCounters,
    spans,
    count,
    ramps: {},
    signal: {},
  } as unknown as Request);
  return chunks.map(({ rollouts, from, count, row }) => [rollouts, from, count, row]);
};

describe("the stretches of a call", () => {
  it("are a rollout and the updates behind it, over again", () => {
    const epoch = [span(rollout, 0, 1), span(train(0, 8), 0, 8)];
    expect(found(...epoch, ...epoch)).toEqual([
      [1, 0, 8, 0],
      [1, 0, 8, 9],
    ]);
  });

  it("may begin with the rest of an epoch and end with the beginning of one", () => {
    expect(found(span(train(0, 8), 5, 3), span(rollout, 0, 1))).toEqual([
      [0, 5, 3, 0],
      [1, 0, 0, 3],
    ]);
    expect(found(span(rollout, 0, 1))).toEqual([[1, 0, 0, 0]]);
    expect(found(span(rollout, 0, 1), span(train(0, 8), 0, 2))).toEqual([[1, 0, 2, 0]]);
  });

  it("count updates from the rollout, whatever segment they are in", () => {
    expect(found(span(train(6, 2), 1, 1))).toEqual([[0, 7, 1, 0]]);
  });
});

describe("the end of a rollout's updates", () => {
  const ends = (...spans: Span[]) => endsRollout(chunksOf({ spans } as unknown as Request));
  it("is the last of all segments", () => {
    expect(ends(span(train(0, 8), 0, 8))).toBe(true);
    expect(ends(span(train(0, 8), 7, 1))).toBe(true);
    expect(ends(span(train(6, 2), 0, 2))).toBe(true);
    expect(ends(span(train(0, 6), 0, 6))).toBe(false);
    expect(ends(span(train(0, 8), 0, 7))).toBe(false);
    expect(ends(span(rollout, 0, 1))).toBe(false);
    expect(ends(span(train(0, 8), 4, 4), span(rollout, 0, 1))).toBe(false);
  });
});

/** What `learn` does: epochs from the first on, each filled from its beginning. */
function naivePlaces(from: number, count: number, minibatches: number): readonly number[] {
  const places: number[] = [];
  const filled = new Map<number, number>();
  for (let update = from; update < from + count; update++) {
    const epoch = Math.floor(update / minibatches) - Math.floor(from / minibatches);
    const before = filled.get(epoch) ?? 0;
    filled.set(epoch, before + 1);
    places.push(epoch * minibatches + before);
  }
  return places;
}

describe("where values of updates stand", () => {
  it("is as they were filled in, wherever they begin", () => {
    const number = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(number(40), number(40), fc.integer({ min: 1, max: 9 }), (from, count, minibatches) => {
        expect(updatePositions({ from, count }, minibatches)).toEqual(naivePlaces(from, count, minibatches));
      }),
      { numRuns: 500, seed: 4 },
    );
    expect(updatePositions({ from: 3, count: 4 }, 4)).toEqual([0, 4, 5, 6]);
  });
});
