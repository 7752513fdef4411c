import { describe, expect, it } from "vitest";
import {
  advanceCounters,
  at,
  between,
  type Counters,
  cycle,
  every,
  noCounters,
  type Schedule,
  when,
} from "../schedule/index.ts";
import { objective } from "./index.ts";
import { counters, fit, inEpoch, line, small } from "./losses.test-support.ts";

const adds = { updates: 1, samples: 32 };

/** `fit` always, `small` as the schedule says. */
const aimsWith = (train: Schedule) =>
  objective({ forward: line, losses: [fit, { ...small, active: { train } }] });

const isActive = (train: Schedule, now: Counters, added = adds): boolean =>
  aimsWith(train).active("train", now, added).includes("small");

/** In which of the first epochs it is active at the first, the fifth and the last of ten batches. */
const epochsOf = (train: Schedule, batch: number): number[] =>
  Array.from({ length: 20 }, (_, epoch) => epoch).filter((epoch) => isActive(train, inEpoch(epoch, batch)));

describe("which losses are active", () => {
  it.each([0, 4, 9])("goes by the epoch where the schedule is written in epochs (batch %d)", (batch) => {
    expect(epochsOf(cycle({ epochs: 8, active: [1, 2] }), batch)).toEqual([0, 1, 8, 9, 16, 17]);
    expect(epochsOf(between({ epochs: [3, 5] }), batch)).toEqual([3, 4, 5]);
    expect(epochsOf(at({ epochs: [0, 7] }), batch)).toEqual([0, 7]);
    expect(epochsOf(every({ epochs: 5 }), batch)).toEqual([5, 10, 15]);
    expect(epochsOf(every({ epochs: 5, from: 0 }), batch)).toEqual([0, 5, 10, 15]);
  });

  it("goes by the batch that begins where it is written in updates", () => {
    const begun = [0, 1, 2, 3, 4, 5, 6].filter((n) => isActive(every({ updates: 3 }), inEpoch(0, n)));
    expect(begun).toEqual([3, 6]);
  });

  it("does not miss an interval in units that jump", () => {
    const begun = Array.from({ length: 10 }, (_, n) => n).filter((n) =>
      isActive(every({ samples: 100 }), inEpoch(0, n)),
    );
    // 100, 200 samples are passed by 128, 224; without `adds` only a batch at exactly 100 would count.
    expect(begun).toEqual([4, 7]);
  });

  it("asks for gathering experience and for training apart", () => {
    const aims = objective({
      forward: line,
      losses: [
        { ...fit, active: { rollout: between({ epochs: [1, 2] }) } },
        { ...small, active: { train: between({ epochs: [2, 3] }) } },
      ],
    });
    expect(aims.active("rollout", inEpoch(0))).toEqual(["small"]);
    expect(aims.active("train", inEpoch(0))).toEqual(["fit"]);
    expect(aims.active("rollout", inEpoch(2))).toEqual(["fit", "small"]);
    expect(aims.active("train", inEpoch(2))).toEqual(["fit", "small"]);
  });

  it("is an error with the counters where none is, in training only", () => {
    const never = { train: at({ epochs: 9 }), rollout: at({ epochs: 9 }) };
    const aims = objective({ forward: line, losses: [{ ...fit, active: never }] });
    expect(() => aims.active("train", inEpoch(2, 5))).toThrow(
      /no loss is active in epoch 2 after 25 batches, 25 updates, 800 samples: fit at epoch 9 \[LOSS_NONE_ACTIVE\]/,
    );
    expect(() => aims.evaluate([])).toThrow(/LOSS_NONE_ACTIVE/);
    expect(aims.active("rollout", inEpoch(2, 5))).toEqual([]);
  });
});

describe("until when they stay the same", () => {
  const schedules: readonly (readonly [string, Schedule])[] = [
    ["every 7 updates", every({ updates: 7 })],
    ["every 100 samples", every({ samples: 100 })],
    ["between updates", between({ updates: [5, 33] })],
    ["a cycle of batches", cycle({ batches: 9, active: [2, 3, 8] })],
    ["two intervals joined", every({ epochs: 2 }).and(every({ updates: 10 }))],
    ["either of two", every({ updates: 4 }).or(between({ samples: [400, 900] }))],
    ["not an interval", every({ updates: 6 }).not()],
    ["a condition on counters", when(({ counters: now }) => now.updates % 5 === 2)],
  ];

  it.each(schedules)("is exact for %s", (_, train) => {
    const aims = aimsWith(train);
    const count = 60;
    for (const from of [inEpoch(0), inEpoch(2), inEpoch(3, 5)]) {
      const oneByOne = Array.from({ length: count }, (_, n) =>
        aims.active("train", advanceCounters(from, { batches: 1, ...adds }, n), adds).join(),
      );
      const lengths = aims.chunks("train", from, adds, count);
      expect(lengths.reduce((a, b) => a + b, 0)).toBe(count);
      let done = 0;
      for (const length of lengths) {
        expect(new Set(oneByOne.slice(done, done + length)).size).toBe(1);
        if (done > 0) expect(oneByOne[done]).not.toBe(oneByOne[done - 1]);
        done += length;
      }
    }
  });

  it("is all of the epoch for schedules in epochs, asked once each", () => {
    let asked = 0;
    const inner = cycle({ epochs: 8, active: [1, 2] });
    const train: Schedule = {
      ...inner,
      due: (moment) => {
        asked++;
        return inner.due(moment);
      },
    };
    expect(aimsWith(train).until("train", inEpoch(1), adds, 100_000)).toBe(100_000);
    expect(asked).toBe(1);
    expect(aimsWith(every({ epochs: 2 })).until("train", inEpoch(2), adds, 1000)).toBe(1000);
  });

  it("is one batch where the clock decides, or a count of steps nobody gave", () => {
    expect(aimsWith(every({ seconds: 10 })).until("train", noCounters, adds, 50)).toBe(1);
    const inSteps = aimsWith(between({ steps: [20, 30] }));
    expect(inSteps.until("train", noCounters, adds, 50)).toBe(1);
    expect(inSteps.until("train", noCounters, { ...adds, steps: 2 }, 50)).toBe(10);
  });

  it("is one batch where a schedule remembers", () => {
    const train = { ...between({ epochs: [0, 5] }), state: { getState: () => 0, setState: () => undefined } };
    expect(aimsWith(train).until("train", noCounters, adds, 50)).toBe(1);
  });

  it("does not look at the clock of schedules that do not", () => {
    const train = every({ updates: 10 }).or(every({ seconds: 5 }));
    // Due at 10 by updates: the clock is not asked then, but is for the batch after.
    expect(aimsWith(train).until("train", counters({ updates: 10, batches: 10 }), adds, 50)).toBe(1);
    expect(aimsWith(between({ updates: [0, 20] })).until("train", noCounters, adds, 50)).toBe(21);
  });

  it("is everything where nothing is scheduled", () => {
    expect(objective({ forward: line, losses: [fit, small] }).until("train", noCounters, adds, 7)).toBe(7);
  });
});
