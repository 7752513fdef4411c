import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import { firstDifference } from "../state/index.ts";
import { batchesOf, RolloutReplay } from "./replay.ts";
import type { Rollout } from "./rollout.ts";

/** A rollout of some units; unit i of rollout n has the number 10 n + i. */
const rollout = (n: number, weightId: number, units = 4): Rollout => ({
  id: `w/${n}`,
  worker: "w",
  weightId,
  lesson: "only",
  episodes: units,
  return: 0,
  positive: 0,
  arrays: {
    x: {
      data: Float32Array.from({ length: units * 2 }, (_, i) => 10 * n + Math.floor(i / 2)),
      shape: [units, 2],
    },
    id: { data: Int32Array.from({ length: units }, (_, i) => 10 * n + i), shape: [units] },
  },
});
const key = (n: number): Uint32Array => hostRandom.hostKey(n);
const replay = (options: Partial<ConstructorParameters<typeof RolloutReplay>[0]> = {}) =>
  new RolloutReplay({ maxReuse: 1, maxStaleness: 10, ...options });
const drawnIds = (from: RolloutReplay, count: number, n: number): readonly number[] =>
  from.draw(count, key(n)).map(({ held, index }) => held.rollout.arrays.id?.data[index] as number);

describe("rollouts that are kept", () => {
  it("are learned from once each, in an order of their own", () => {
    const kept = replay();
    kept.add(rollout(0, 0), 0);
    kept.add(rollout(1, 1), 1);
    expect(kept.available).toBe(8);
    const [first, second] = [drawnIds(kept, 5, 1), drawnIds(kept, 5, 2)];
    expect([first.length, second.length, kept.available]).toEqual([5, 3, 0]);
    expect([...first, ...second].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 10, 11, 12, 13]);
    expect([...first, ...second]).not.toEqual([0, 1, 2, 3, 10, 11, 12, 13]);
  });

  it("are learned from several times where that is allowed, and never twice in one batch", () => {
    const kept = replay({ maxReuse: 3 });
    kept.add(rollout(0, 0), 0);
    const draws = Array.from({ length: 3 }, (_, i) => drawnIds(kept, 4, i));
    for (const ids of draws) expect([...ids].sort()).toEqual([0, 1, 2, 3]);
    expect(kept.available).toBe(0);
  });

  it("are refused where they are too old, from the future or known, and counted", () => {
    const kept = replay();
    expect(kept.add(rollout(0, 5), 15)).toBe(true);
    expect(kept.add(rollout(0, 5), 15)).toBe(false);
    expect(kept.add(rollout(1, 4), 15)).toBe(false);
    expect(kept.add(rollout(2, 16), 15)).toBe(false);
    kept.expire(15);
    expect(kept.available).toBe(4);
    kept.expire(16);
    expect(kept.available).toBe(0);
    expect(kept.counts).toMatchObject({
      rollouts: 1,
      units: 4,
      stale: 1,
      future: 1,
      duplicates: 1,
      expired: 4,
    });
    // What was used up or expired is still known.
    expect(kept.add(rollout(0, 15), 16)).toBe(false);
  });

  it("leave out units that nothing can be learned from", () => {
    const kept = replay({ useful: ({ id }, unit) => (id?.data[unit] as number) % 2 === 1 });
    kept.add(rollout(0, 0), 0);
    expect(kept.counts).toMatchObject({ units: 2, useless: 2 });
    expect([...drawnIds(kept, 4, 0)].sort()).toEqual([1, 3]);
  });

  it("are drawn more often when they are newer, as recency says", () => {
    let fresh = 0;
    for (let n = 0; n < 300; n++) {
      const kept = replay({ recency: 2, maxStaleness: 100 });
      kept.add(rollout(0, 0, 1), 4);
      kept.add(rollout(1, 4, 1), 4);
      if (drawnIds(kept, 1, n)[0] === 10) fresh++;
    }
    // Two half-lives: 4 times as likely. Four standard deviations are 28.
    expect(Math.abs(fresh - 240)).toBeLessThan(28);
  });

  it("go on as they were from their state", async () => {
    const [kept, again] = [replay({ maxReuse: 2 }), replay({ maxReuse: 2 })];
    kept.add(rollout(0, 0), 0);
    kept.add(rollout(1, 0), 0);
    drawnIds(kept, 5, 0);
    again.setState(kept.getState());
    expect(drawnIds(again, 6, 1)).toEqual(drawnIds(kept, 6, 1));
    expect(await firstDifference(again.getState(), kept.getState())).toBeUndefined();
    expect(again.add(rollout(1, 0), 0)).toBe(false);
    expect(() => again.setState({})).toThrow(EspalierError);
  });
});

describe("a batch of units", () => {
  it("has the units' arrays, zeros where there are too few, and what is valid", () => {
    const kept = replay();
    kept.add(rollout(3, 0, 2), 0);
    const units = kept.draw(3, key(0));
    const { x, id, valid } = batchesOf([units], 3, 2);
    expect(valid).toEqual({ data: Float32Array.of(1, 1, 0, 0, 0, 0), shape: [2, 3] });
    const order = units.map(({ index }) => 30 + index);
    expect(id).toEqual({ data: Int32Array.of(...order, 0, 0, 0, 0), shape: [2, 3] });
    expect(x?.data).toEqual(Float32Array.from([...order.flatMap((n) => [n, n]), ...new Float32Array(8)]));
    expect(x?.shape).toEqual([2, 3, 2]);
  });

  it("refuses rollouts of different shapes, and those without units", () => {
    const kept = replay();
    kept.add(rollout(0, 0, 1), 0);
    const other = rollout(1, 0, 1);
    const wide = { data: new Float32Array(3), shape: [1, 3] };
    kept.add({ ...other, arrays: { ...other.arrays, x: wide } }, 0);
    expect(() => batchesOf([kept.draw(2, key(0))], 2)).toThrow(/x.*\[1,3\]/);
    for (const odd of [
      { data: new Float32Array(2), shape: [1, 1, 2] },
      { data: new Int32Array(2), shape: [1, 2] },
    ]) {
      const [mixed, one, two] = [replay(), rollout(0, 0, 1), rollout(1, 0, 1)];
      mixed.add(one, 0);
      mixed.add({ ...two, arrays: { ...two.arrays, x: odd } }, 0);
      expect(() => batchesOf([mixed.draw(2, key(0))], 2)).toThrow(/"x"/);
    }
    const valid = { data: new Float32Array(1), shape: [1] };
    expect(() => kept.add({ ...rollout(4, 0, 1), arrays: { valid } }, 0)).toThrow(/"valid"/);
    expect(() => kept.add({ ...rollout(2, 0), arrays: {} }, 0)).toThrow(/no arrays/);
    const uneven = rollout(3, 0);
    expect(() => kept.add({ ...uneven, arrays: { ...uneven.arrays, x: wide } }, 0)).toThrow(/"id"|"x"/);
  });
});
