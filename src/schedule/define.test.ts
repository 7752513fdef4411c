import { describe, expect, it } from "vitest";
import type { Stateful, StateTree } from "../state/index.ts";
import { counted, moment } from "./moments.test-support.ts";
import { always, between, cycle, never, when } from "./periods.ts";
import { at, every } from "./points.ts";
import { defineSchedule, type Schedule } from "./schedule.ts";

const often = every({ updates: 100 });
const early = between({ epochs: [0, 3] });
const perhaps = when(() => true, "perhaps");

describe("and", () => {
  const next = (schedule: Schedule, counts = {}) => schedule.nextDue(counted(counts));

  it("is due when both are", () => {
    const schedule = often.and(early);
    expect(schedule.due(moment({ updates: 99 }, { updates: 100 }))).toBe(true);
    expect(schedule.due(moment({ updates: 99, epochs: 4 }, { updates: 100, epochs: 4 }))).toBe(false);
    expect(schedule.due(moment({ updates: 100 }, { updates: 101 }))).toBe(false);
  });

  it("waits for the later of two points in one unit", () => {
    expect(next(often.and(at({ updates: [250] })))).toEqual([{ unit: "updates", at: 250 }]);
    expect(next(at({ updates: [250] }).and(often))).toEqual([{ unit: "updates", at: 250 }]);
  });

  it("waits for the one that is known, or not yet reached", () => {
    expect(next(often.and(perhaps))).toEqual([{ unit: "updates", at: 100 }]);
    expect(next(perhaps.and(often))).toEqual([{ unit: "updates", at: 100 }]);
    expect(next(early.and(often), { epochs: 1 })).toEqual([{ unit: "updates", at: 100 }]);
    expect(next(always().and(often))).toEqual([{ unit: "updates", at: 100 }]);
    expect(next(perhaps.and(perhaps))).toBeUndefined();
  });

  it("prefers points in epochs, and others to seconds", () => {
    expect(next(often.and(at({ epochs: 2 })))).toEqual([{ unit: "epochs", at: 2 }]);
    expect(next(every({ seconds: 60 }).and(often))).toEqual([{ unit: "updates", at: 100 }]);
  });

  it("is never due where one is not", () => {
    expect(next(often.and(never()))).toEqual([]);
    expect(next(often.and(early), { epochs: 4 })).toEqual([]);
    expect(next(perhaps.and(never()))).toEqual([]);
  });
});

describe("or", () => {
  const next = (schedule: Schedule, counts = {}) => schedule.nextDue(counted(counts));

  it("is due when either is", () => {
    const schedule = often.or(at({ epochs: 1 }));
    expect(schedule.due(moment({ updates: 99 }, { updates: 100 }))).toBe(true);
    expect(schedule.due(moment({}, { epochs: 1 }))).toBe(true);
    expect(schedule.due(moment({ updates: 100 }, { updates: 101 }))).toBe(false);
  });

  it("waits for the first of all points, one for each unit", () => {
    const schedule = often.or(at({ epochs: 1 })).or(every({ updates: 30 }));
    expect(next(schedule)).toEqual([
      { unit: "updates", at: 30 },
      { unit: "epochs", at: 1 },
    ]);
  });

  it("cannot know where one cannot", () => {
    expect(next(often.or(perhaps))).toBeUndefined();
    expect(next(often.or(never()))).toEqual([{ unit: "updates", at: 100 }]);
  });
});

describe("not", () => {
  it("is due when the other is not", () => {
    expect(often.not().due(moment({ updates: 99 }, { updates: 100 }))).toBe(false);
    expect(often.not().due(moment({ updates: 100 }, { updates: 101 }))).toBe(true);
  });

  it("twice is the schedule itself", () => {
    expect(often.not().not()).toBe(often);
  });

  it("knows its next time where the end of the other is known, also through and and or", () => {
    const odd = cycle({ epochs: 2, active: [1] });
    const next = (schedule: Schedule) => schedule.nextDue(counted({ epoch: 2, epochs: 2 }));
    expect(next(odd.not())).toEqual([{ unit: "epochs", at: 3 }]);
    expect(next(odd.and(early).not())).toEqual([{ unit: "epochs", at: 3 }]);
    expect(next(odd.or(early).not())).toEqual([{ unit: "epochs", at: 4 }]);
    expect(next(often.not())).toBeUndefined();
  });
});

describe("words", () => {
  it.each([
    [often.and(early), "every 100 updates and between epochs 0 and 3"],
    [often.or(early).and(perhaps), "(every 100 updates or between epochs 0 and 3) and perhaps"],
    [perhaps.or(often.and(early)), "perhaps or (every 100 updates and between epochs 0 and 3)"],
    [perhaps.or(often).or(never()), "perhaps or every 100 updates or never"],
    [often.not(), "not every 100 updates"],
    [often.and(perhaps).not(), "not (every 100 updates and perhaps)"],
    [often.and(perhaps.not()), "every 100 updates and not perhaps"],
  ])("%#: brackets only where they are needed", (schedule, words) => {
    expect(schedule.describe()).toBe(words);
  });
});

describe("a schedule of one's own", () => {
  /** Due the first few times it is asked to run. */
  class Limited {
    left: number;
    readonly #later: boolean;
    constructor(left: number, later = false) {
      this.left = left;
      this.#later = later;
    }
    due() {
      return this.left > 0;
    }
    describe() {
      return `${this.left} left`;
    }
    readonly state: Stateful = {
      getState: () => (this.#later ? Promise.resolve({ left: this.left }) : { left: this.left }),
      setState: (state: StateTree) => {
        this.left = (state as { left: number }).left;
        return this.#later ? Promise.resolve() : undefined;
      },
    };
  }

  it("may be an object with methods, and gets the combinators", () => {
    const schedule = defineSchedule(new Limited(2));
    expect(schedule.and(often.not()).due({ counters: counted({}) })).toBe(true);
    expect(schedule.nextDue(counted({}))).toBeUndefined();
    expect(schedule.not().describe()).toBe("not 2 left");
  });

  it("has its state carried along by and, or and not", async () => {
    const [a, b] = [new Limited(2), new Limited(5, true)];
    const joint = defineSchedule(a).and(often).or(defineSchedule(b)).not();
    const saved = await joint.state?.getState();
    expect(saved).toEqual([[{ left: 2 }, null], { left: 5 }]);
    a.left = b.left = 0;
    await joint.state?.setState(saved as StateTree);
    expect([a.left, b.left]).toEqual([2, 5]);
  });

  it("has its state at once where both parts have", () => {
    const joint = defineSchedule(new Limited(2)).or(often);
    expect(joint.state?.getState()).toEqual([{ left: 2 }, null]);
    expect(joint.state?.setState([{ left: 1 }, null])).toBeUndefined();
    expect(() => joint.state?.setState({ left: 1 })).toThrow(/not a state of two joined schedules/);
  });

  it("remembers nothing where no part does", () => {
    expect(often.and(early).not().state).toBeUndefined();
  });
});

it.each(["and", "or"] as const)("%s refuses what is not a schedule", (word) => {
  expect(() => often[word]((() => true) as never)).toThrow(/what it was given is not a schedule/);
  expect(() => often[word](undefined as never)).toThrow(/what it was given is not a schedule/);
});

it("says which counters a schedule reads, where all of its parts do", () => {
  expect(
    often
      .and(early)
      .or(at({ updates: 3 }))
      .not().units,
  ).toEqual(["updates", "epochs"]);
  expect(
    cycle({ epochs: 4, active: [1] })
      .or(never())
      .and(always()).units,
  ).toEqual(["epochs"]);
  expect(often.and(perhaps).units).toBeUndefined();
});
