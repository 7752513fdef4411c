import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CheckpointManager, memoryStore } from "../../checkpoint/index.ts";
import { evenly, learn, result } from "./curricula.test-support.ts";
import type { Curriculum } from "./curriculum.ts";
import { type LessonCurriculumOptions, lessonCurriculum } from "./lesson-curriculum.ts";

const chain = [
  { name: "a", stop: 0.9 },
  { name: "b", after: ["a"], threshold: 0.6 },
  { name: "c", after: ["a", "b"] },
];
const shares = (curriculum: Curriculum): number[] => [...curriculum.shares()];
/** So many results of ten successful episodes each. */
const succeed = (curriculum: Curriculum, lesson: number, results = 5): void => {
  for (let i = 0; i < results; i++) curriculum.trained([result(lesson, 1, { episodes: 10 })]);
};
const evaluate = (curriculum: Curriculum, lesson: number, positive: number, results = 5): void => {
  for (let i = 0; i < results; i++)
    curriculum.evaluated([result(lesson, positive, { episodes: 20, positive })]);
};

describe("scores", () => {
  it("begin at 0.5 and move by 0.1 an episode", () => {
    const curriculum = lessonCurriculum({ lessons: [{ name: "a" }] });
    expect(curriculum.metrics()["score.a"]).toBe(0.5);
    curriculum.trained([result(0, 3)]);
    expect(curriculum.metrics()["score.a"]).toBeCloseTo(0.55, 12);
    curriculum.trained([result(0, -3)]);
    expect(curriculum.metrics()["score.a"]).toBeCloseTo(0.495, 12);
    // Three episodes, of which a third has a return above 0: 1 - 0.9^3 = 0.271 of the way to 1/3.
    curriculum.trained([result(0, 0.2, { episodes: 3, positive: 1 / 3 })]);
    expect(curriculum.metrics()["score.a"]).toBeCloseTo(0.495 + 0.271 * (1 / 3 - 0.495), 12);
    expect(curriculum.metrics()["return.a"]).toBeCloseTo(0.6 / 5, 12);
  });

  it("decide shares", () => {
    const curriculum = lessonCurriculum({ lessons: [{ name: "a" }, { name: "b" }] });
    expect(shares(curriculum)).toEqual([0.5, 0.5]);
    curriculum.trained([result(0, 1, { episodes: 10 })]);
    const s = 0.5 + 0.5 * (1 - 0.9 ** 10);
    const weight = (4 * s - 4 * s * s) * (1 + Math.exp(-0.1));
    expect(shares(curriculum)[0]).toBeCloseTo(weight / (weight + 2), 6);
  });
});

describe("unlocking", () => {
  it("begins with the lessons that come after none", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    expect(shares(curriculum)).toEqual([1, 0, 0]);
    expect(curriculum.metrics()).toMatchObject({ unlocked: 1, graduated: 0, takenBack: 0 });
  });

  it("needs every dependency's score and plateau", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    succeed(curriculum, 0, 4);
    expect(shares(curriculum)[1]).toBe(0);
    succeed(curriculum, 0, 1);
    expect(shares(curriculum)[1]).toBeGreaterThan(0);
    expect(shares(curriculum)[2]).toBe(0);
    expect(curriculum.takeEvents?.()).toEqual([{ lesson: "b", what: "unlocked" }]);
    expect(curriculum.takeEvents?.()).toEqual([]);
    succeed(curriculum, 1);
    expect(shares(curriculum).every((share) => share > 0)).toBe(true);
  });

  it("waits while scores are high and returns still move", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    for (let i = 1; i <= 20; i++) curriculum.trained([result(0, 1.2 ** i, { episodes: 10 })]);
    expect(curriculum.metrics()["score.a"]).toBeGreaterThan(0.99);
    expect(shares(curriculum)).toEqual([1, 0, 0]);
  });

  it("waits while returns stand still and scores are low", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    for (let i = 0; i < 20; i++) curriculum.trained([result(0, 0.7, { episodes: 10, positive: 0.7 })]);
    expect(shares(curriculum)).toEqual([1, 0, 0]);
    // The same is enough for a threshold of 0.6.
    const lower = lessonCurriculum({
      lessons: [
        { name: "a", threshold: 0.6 },
        { name: "b", after: ["a"] },
      ],
    });
    for (let i = 0; i < 20; i++) lower.trained([result(0, 0.7, { episodes: 10, positive: 0.7 })]);
    expect(shares(lower)[1]).toBeGreaterThan(0);
  });

  it("takes nothing back when a dependency falls", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    succeed(curriculum, 0);
    for (let i = 0; i < 20; i++) curriculum.trained([result(0, -1, { episodes: 10 })]);
    expect(shares(curriculum)[1]).toBeGreaterThan(0);
  });
});

describe("graduation", () => {
  it("comes by evaluations that are good and stand still, and takes the lesson's share", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    succeed(curriculum, 0, 20);
    expect(curriculum.metrics().graduated).toBe(0);
    evaluate(curriculum, 0, 1, 4);
    expect(curriculum.metrics().graduated).toBe(0);
    evaluate(curriculum, 0, 1, 1);
    expect(curriculum.metrics()).toMatchObject({ graduated: 1, unlocked: 2 });
    expect(shares(curriculum)).toEqual([0, 1, 0]);
    expect(curriculum.takeEvents?.().at(-1)).toEqual({ lesson: "a", what: "graduated" });
  });

  it("counts as good enough for what comes after", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    evaluate(curriculum, 0, 1);
    expect(shares(curriculum)).toEqual([0, 1, 0]);
    expect(curriculum.takeEvents?.().map(({ what }) => what)).toEqual(["graduated", "unlocked"]);
  });

  it("never comes for a lesson without `stop`, and not below it", () => {
    const curriculum = lessonCurriculum({ lessons: chain });
    evaluate(curriculum, 0, 0.89, 20);
    succeed(curriculum, 0);
    evaluate(curriculum, 1, 1, 20);
    expect(curriculum.metrics().graduated).toBe(0);
  });

  it("leaves shares to what has graduated when nothing else is left", () => {
    const curriculum = lessonCurriculum({
      lessons: [
        { name: "a", stop: 0.9 },
        { name: "b", stop: 0.9 },
      ],
    });
    evaluate(curriculum, 0, 1);
    evaluate(curriculum, 1, 1);
    expect(curriculum.metrics().graduated).toBe(2);
    expect(shares(curriculum)).toEqual([0.5, 0.5]);
  });
});

describe("regression watch", () => {
  const graduated = (): Curriculum => {
    const curriculum = lessonCurriculum({ lessons: chain });
    succeed(curriculum, 0);
    evaluate(curriculum, 0, 1);
    curriculum.takeEvents?.();
    return curriculum;
  };

  it("takes a graduated lesson back that falls more than the margin below its stop", () => {
    const curriculum = graduated();
    evaluate(curriculum, 0, 0.81, 20);
    expect(shares(curriculum)).toEqual([0, 1, 0]);
    evaluate(curriculum, 0, 0.5, 1);
    // From about 0.81 by 1 - 0.9^20 of the way to 0.5.
    const score = 0.5 + 0.31 * 0.9 ** 20;
    expect(curriculum.metrics()).toMatchObject({ graduated: 0, takenBack: 1 });
    expect(curriculum.metrics()["score.a"]).toBeCloseTo(score, 6);
    expect(shares(curriculum)[0]).toBeGreaterThan(0.1);
    expect(curriculum.takeEvents?.()).toEqual([{ lesson: "a", what: "taken back" }]);
  });

  it("lets it graduate again", () => {
    const curriculum = graduated();
    evaluate(curriculum, 0, 0, 1);
    evaluate(curriculum, 0, 1, 5);
    expect(curriculum.metrics()).toMatchObject({ graduated: 1, takenBack: 1 });
  });
});

describe("somebody who can learn b only after a, and c only after b", () => {
  const names = ["a", "b", "c"];
  const lessons = [{ name: "a" }, { name: "b", after: ["a"] }, { name: "c", after: ["b"] }];
  const rollouts = 30;

  it.each([1, 2, 3])("reaches c with the curriculum, and not without it (seed %i)", (seed) => {
    const with_ = learn(lessonCurriculum({ lessons }), rollouts, seed);
    expect(with_[2]).toBeGreaterThan(0.9);
    const without = learn(evenly(names), rollouts, seed);
    expect(without[2]).toBeLessThan(0.2);
  });
});

describe("whatever it is told", () => {
  const told = fc.array(
    fc.record({
      evaluated: fc.boolean(),
      lesson: fc.nat(3),
      episodes: fc.nat(200),
      return: fc.oneof(fc.constantFrom(0, 1), fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
      positive: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    { maxLength: 60 },
  );
  const options: LessonCurriculumOptions = {
    lessons: [...chain, { name: "d", stop: 0.5 }],
    plateau: { over: 2, results: 1, slope: 1, variation: 1 },
  };
  const tell = (
    curriculum: Curriculum,
    { evaluated, ...rest }: { evaluated: boolean } & ReturnType<typeof result>,
  ) => (evaluated ? curriculum.evaluated([rest]) : curriculum.trained([rest]));

  it("its shares sum to 1, and no number is NaN", () => {
    fc.assert(
      fc.property(told, fc.double({ min: 0, max: 1, noNaN: true }), (results, floor) => {
        const curriculum = lessonCurriculum({ ...options, floor });
        for (const each of results) {
          tell(curriculum, each);
          expect(shares(curriculum).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5);
          expect(shares(curriculum).every((share) => share >= 0)).toBe(true);
        }
        expect(Object.values(curriculum.metrics()).every(Number.isFinite)).toBe(true);
      }),
    );
  });

  it("goes on from its state as it would have without", () => {
    fc.assert(
      fc.property(told, told, (before, after) => {
        const [one, other] = [lessonCurriculum(options), lessonCurriculum(options)];
        for (const each of before) tell(one, each);
        other.setState(structuredClone(one.getState()) as never);
        for (const each of after) {
          tell(one, each);
          tell(other, each);
        }
        expect(other.getState()).toEqual(one.getState());
        expect(other.shares()).toEqual(one.shares());
        expect(other.takeEvents?.()).toEqual(one.takeEvents?.());
      }),
    );
  });

  it("is the same after a checkpoint", async () => {
    const [one, other] = [lessonCurriculum({ lessons: chain }), lessonCurriculum({ lessons: chain })];
    succeed(one, 0);
    evaluate(one, 0, 0.97, 3);
    const manager = new CheckpointManager({ store: memoryStore() });
    const { name } = await manager.save({ curriculum: one }, { counters: {} });
    await manager.restore({ curriculum: other }, await manager.load(name));
    await manager.close();
    expect(other.getState()).toEqual(one.getState());
  });
});

describe("bad input", () => {
  it.each<[string, unknown, RegExp]>([
    ["no lessons", { lessons: [] }, /there are no lessons/],
    ["a lesson without a name", { lessons: [{ after: [] }] }, /a lesson is named undefined/],
    ["the same name twice", { lessons: [{ name: "a" }, { name: "a" }] }, /two lessons are named "a"/],
    [
      "an unknown dependency",
      { lessons: [{ name: "corridor" }, { name: "maze", after: ["coridor"] }] },
      /"maze" comes after "coridor".*did you mean "corridor".*LESSON_UNKNOWN/s,
    ],
    ["a lesson after itself", { lessons: [{ name: "a", after: ["a"] }] }, /"a" after "a".*LESSON_CYCLE/s],
    [
      "a cycle",
      {
        lessons: [
          { name: "start" },
          { name: "a", after: ["start", "c"] },
          { name: "b", after: ["a"] },
          { name: "c", after: ["b"] },
        ],
      },
      /wait for each other: "a" after "c" after "b" after "a".*LESSON_CYCLE/s,
    ],
    ["after that is no list", { lessons: [{ name: "a", after: "b" }] }, /after is "b".*list of names/s],
    [
      "a misspelt field",
      { lessons: [{ name: "a", treshold: 1 }] },
      /no option "treshold"; did you mean "threshold"/,
    ],
    ["a threshold that is no share", { lessons: [{ name: "a", threshold: 80 }] }, /"a": threshold is 80/],
    ["a plateau over one", { lessons: [{ name: "a" }], plateau: { over: 1 } }, /plateau: over is 1/],
    [
      "a plateau over more than is kept",
      { lessons: [{ name: "a" }], window: 10 },
      /plateau.over is 50.*which is 10/s,
    ],
    ["a misspelt option", { lessons: [{ name: "a" }], flor: 0 }, /no option "flor"/],
  ])("refuses %s", (_what, options, message) => {
    expect(() => lessonCurriculum(options as LessonCurriculumOptions)).toThrow(message);
  });

  it("refuses a state of other lessons", () => {
    const state = lessonCurriculum({ lessons: chain }).getState();
    expect(() => lessonCurriculum({ lessons: [{ name: "a" }] }).setState(state as never)).toThrow(
      /of the lessons a, b, c.*STATE_INVALID/s,
    );
  });
});
