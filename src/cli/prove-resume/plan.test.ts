import { describe, expect, it } from "vitest";
import { planKills } from "./prove.ts";

/** A run of epochs with so many batches. */
const course = (...lengths: number[]) => ({
  batches: lengths.reduce((sum, n) => sum + n, 0),
  epochStarts: lengths.map((_, i) => lengths.slice(0, i).reduce((sum, n) => sum + n, 0)),
});

describe("planKills", () => {
  it("kills once in the middle of the epoch half-way, with a checkpoint earlier in the same epoch", () => {
    expect(planKills(course(10, 10, 10, 10))).toEqual([{ at: 26, save: 23, epoch: 2, before: 6, after: 4 }]);
  });

  it.each([[[1, 1]], [[2]], [[1, 1, 1]], [[2, 5, 1]], [[100]], [[3, 0, 3]]])(
    "finds a place with work on both sides in epochs of %j batches",
    (lengths) => {
      const run = course(...lengths);
      const [kill] = planKills(run);
      expect(kill?.at).toBeGreaterThanOrEqual(1);
      expect(kill?.at).toBeLessThan(run.batches);
      expect(kill?.save).toBeGreaterThanOrEqual(1);
      expect(kill?.save).toBeLessThanOrEqual(kill?.at ?? 0);
    },
  );

  it("takes places that are given, in order, each once", () => {
    expect(planKills(course(4, 4), [6, 3, 6])).toMatchObject([
      { at: 3, epoch: 0, before: 3, after: 1 },
      { at: 6, epoch: 1, before: 2, after: 2 },
    ]);
  });

  it("knows that the last batch of an epoch belongs to it", () => {
    expect(planKills(course(4, 4), [4])).toMatchObject([{ at: 4, epoch: 0, before: 4, after: 0 }]);
  });

  it.each([[[0]], [[8]], [[9]], [[1.5]]])("refuses kills at %j of 8 batches", (at) => {
    expect(() => planKills(course(4, 4), at)).toThrow(/KILL_INVALID/);
  });

  it("refuses a run that has no middle", () => {
    expect(() => planKills(course(1))).toThrow(/PROOF_TOO_SHORT/);
  });
});
