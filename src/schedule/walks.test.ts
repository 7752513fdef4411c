import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Counters } from "./counters.ts";
import { counted } from "./moments.test-support.ts";
import { always, between, cycle, never, when } from "./periods.ts";
import { at, every } from "./points.ts";
import type { Moment, Point, Schedule } from "./schedule.ts";
import { countOf } from "./units.ts";

const UNITS = ["epochs", "batches", "updates", "samples", "steps", "seconds", "episodes"] as const;

/** Counters at the moments of a run: jumps of all sizes, epochs that end between batches. */
const walks: fc.Arbitrary<readonly Counters[]> = fc
  .array(
    fc.record({
      batches: fc.nat(3),
      updates: fc.nat(5),
      samples: fc.nat(300),
      // Eighths, so that adding them up is exact.
      seconds: fc.nat(20).map((n) => n / 8),
      episodes: fc.nat(2),
      endsEpoch: fc.boolean(),
    }),
    { minLength: 2, maxLength: 30 },
  )
  .map((steps) => {
    const walk = [counted({ episodes: 0 })];
    for (const step of steps) {
      const last = walk[walk.length - 1] as Counters;
      walk.push({
        epoch: last.epochs,
        epochs: last.epochs + (step.endsEpoch ? 1 : 0),
        batches: last.batches + step.batches,
        updates: last.updates + step.updates,
        samples: last.samples + step.samples,
        steps: last.steps + step.updates,
        seconds: last.seconds + step.seconds,
        episodes: (last.episodes ?? 0) + step.episodes,
      });
    }
    return walk;
  });

/** A schedule, and what it should say by counting one by one. */
interface Case {
  readonly schedule: Schedule;
  readonly expected: (moment: Moment) => boolean;
}

const unit = fc.constantFrom(...UNITS);
const count = fc.integer({ min: 1, max: 40 });
const crossed = ({ counters, since }: Moment, of: string, times: Iterable<number>): boolean => {
  const now = countOf(counters, of);
  const before = since ? countOf(since, of) : now - 1;
  for (const time of times) {
    if (time > now) return false;
    if (time > before) return true;
  }
  return false;
};

const everies: fc.Arbitrary<Case> = fc
  .tuple(unit, count, fc.option(fc.nat(20), { nil: undefined }), fc.option(fc.nat(60), { nil: undefined }))
  .map(([of, interval, from, more]) => {
    const first = from ?? interval;
    const until = more === undefined ? undefined : first + more;
    function* times() {
      for (let time = first; time <= (until ?? Number.POSITIVE_INFINITY); time += interval) yield time;
    }
    return {
      schedule: every({ [of]: interval, from, until }),
      expected: (moment) => crossed(moment, of, times()),
    };
  });

const leaves: fc.Arbitrary<Case> = fc.oneof(
  everies,
  fc.tuple(unit, fc.uniqueArray(fc.nat(50), { minLength: 1, maxLength: 6 })).map(([of, times]) => ({
    schedule: at({ [of]: times }),
    expected: (moment: Moment) =>
      crossed(
        moment,
        of,
        times.slice().sort((a, b) => a - b),
      ),
  })),
  fc.tuple(unit, fc.nat(20), fc.nat(20)).map(([of, from, length]) => ({
    schedule: between({ [of]: [from, from + length] as const }),
    expected: ({ counters }: Moment) =>
      countOf(counters, of) >= from && countOf(counters, of) <= from + length,
  })),
  fc
    .tuple(unit, fc.integer({ min: 1, max: 9 }))
    .chain(([of, length]) =>
      fc.tuple(
        fc.constant(of),
        fc.constant(length),
        fc.uniqueArray(fc.integer({ min: 1, max: length }), { minLength: 1 }),
      ),
    )
    .map(([of, length, active]) => ({
      schedule: cycle({ [of]: length, active }),
      expected: ({ counters }: Moment) => {
        const index = of === "epochs" ? counters.epoch : Math.floor(countOf(counters, of));
        return active.includes((index % length) + 1);
      },
    })),
  fc.constant({ schedule: never(), expected: () => false }),
  fc.constant({ schedule: always(), expected: () => true }),
  fc.integer({ min: 1, max: 5 }).map((n) => {
    const condition = ({ counters }: Moment) => counters.updates % n === 0;
    return { schedule: when(condition), expected: condition };
  }),
);

const { schedules } = fc.letrec<{ schedules: Case }>((again) => ({
  schedules: fc.oneof(
    { maxDepth: 3, depthSize: "medium" },
    leaves,
    again("schedules").map(({ schedule, expected }) => ({
      schedule: schedule.not(),
      expected: (moment: Moment) => !expected(moment),
    })),
    fc.tuple(again("schedules"), again("schedules")).map(([a, b]) => ({
      schedule: a.schedule.and(b.schedule),
      expected: (moment: Moment) => a.expected(moment) && b.expected(moment),
    })),
    fc.tuple(again("schedules"), again("schedules")).map(([a, b]) => ({
      schedule: a.schedule.or(b.schedule),
      expected: (moment: Moment) => a.expected(moment) || b.expected(moment),
    })),
  ),
}));

const reached = (counters: Counters, points: readonly Point[]): boolean =>
  points.some((point) => countOf(counters, point.unit) >= point.at);

describe("along any run", () => {
  it("schedules are due as counting one by one says, and, or and not as logic says", () => {
    fc.assert(
      fc.property(walks, schedules, (walk, { schedule, expected }) => {
        walk.forEach((counters, i) => {
          const moment: Moment = { counters, since: walk[i - 1] };
          expect(schedule.due(moment)).toBe(expected(moment));
        });
      }),
      { numRuns: 1000 },
    );
  });

  it("nothing is due before the first of its next points", () => {
    fc.assert(
      fc.property(walks, schedules, (walk, { schedule }) => {
        for (const [start, from] of walk.entries()) {
          const points = schedule.nextDue(from);
          if (points === undefined) continue;
          for (let i = start + 1; i < walk.length; i++) {
            const counters = walk[i] as Counters;
            if (reached(counters, points)) break;
            expect(schedule.due({ counters, since: walk[i - 1] })).toBe(false);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("every is due exactly when its next point is reached, which lies ahead", () => {
    fc.assert(
      fc.property(walks, everies, (walk, { schedule }) => {
        for (const [start, from] of walk.entries()) {
          const points = schedule.nextDue(from) ?? [];
          expect(reached(from, points)).toBe(false);
          const end = walk.findIndex((counters, i) => i > start && reached(counters, points));
          if (end < 0) continue;
          expect(schedule.due({ counters: walk[end] as Counters, since: walk[end - 1] })).toBe(true);
        }
      }),
    );
  });

  it("every is due as often as the count goes over multiples", () => {
    fc.assert(
      fc.property(count, fc.array(fc.nat(50), { maxLength: 60 }), (interval, jumps) => {
        let now = 0;
        let due = 0;
        let multiples = 0;
        for (const jump of jumps) {
          const since = counted({ samples: now });
          const before = Math.floor(now / interval);
          now += jump;
          if (Math.floor(now / interval) > before) multiples++;
          if (every({ samples: interval }).due({ counters: counted({ samples: now }), since })) due++;
        }
        expect(due).toBe(multiples);
        if (jumps.every((jump) => jump <= interval)) expect(due).toBe(Math.floor(now / interval));
      }),
    );
  });

  it("fractions of seconds lose no time and gain none", () => {
    const seconds = fc.double({ min: 0.01, max: 100, noNaN: true });
    fc.assert(
      fc.property(seconds, fc.nat(1e6), (interval, n) => {
        const schedule = every({ seconds: interval });
        const on = counted({ seconds: n * interval });
        const [next] = schedule.nextDue(on) ?? [];
        expect(next?.at).toBe((n + 1) * interval);
        const there = counted({ seconds: (n + 1) * interval });
        expect(schedule.due({ counters: there, since: on })).toBe(true);
        expect(schedule.due({ counters: there, since: there })).toBe(false);
      }),
    );
  });

  it("a unit that nothing counts is found by due and by nextDue", () => {
    const schedule = always().or(every({ episods: 3 }));
    expect(() => schedule.nextDue(counted({ episodes: 1 }))).toThrow(
      /nothing here counts "episods"; did you mean "episodes"\?/,
    );
    expect(() => every({ episods: 3 }).due({ counters: counted({}) })).toThrow(
      /the units counted here: epochs, batches/,
    );
  });
});
