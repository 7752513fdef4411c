import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StateTree } from "../../state/index.ts";
import { evenly, result } from "./curricula.test-support.ts";
import { sharesOf } from "./curriculum.ts";
import { type LearningProgressOptions, learningProgressCurriculum } from "./learning-progress.ts";

const lessons = (n: number): string[] => Array.from({ length: n }, (_, i) => `lesson ${i}`);
const total = (shares: Float32Array): number => shares.reduce((sum, share) => sum + share, 0);

describe("learningProgressCurriculum", () => {
  it("starts with equal shares", () => {
    const shares = learningProgressCurriculum({ lessons: lessons(4) }).shares();
    expect([...shares]).toEqual([0.25, 0.25, 0.25, 0.25]);
  });

  it("moves the averages of several episodes at once by 1 - (1 - rate)^n", () => {
    const one = learningProgressCurriculum({ lessons: ["a"] });
    one.trained([result(0, 0.5)]);
    one.trained([result(0, 1, { episodes: 100 })]);
    // From 0 to 1 by 1 - 0.999^100 = 0.0952078... and 1 - 0.9998^100 = 0.0198032...
    const { fast, slow } = one.getState() as { fast: Float64Array; slow: Float64Array };
    expect(fast[0]).toBeCloseTo(0.09520785, 8);
    expect(slow[0]).toBeCloseTo(0.01980329, 8);
    const many = learningProgressCurriculum({ lessons: ["a"] });
    many.trained([result(0, 0.5)]);
    for (let i = 0; i < 100; i++) many.trained([result(0, 1)]);
    expect((many.getState() as { fast: Float64Array }).fast[0]).toBeCloseTo(fast[0] as number, 10);
  });

  it("computes shares from them as the formulas say", () => {
    const curriculum = learningProgressCurriculum({ lessons: ["a", "b", "c"] });
    curriculum.trained([result(0, 0.5), result(1, 0.5), result(2, 0)]);
    curriculum.trained([result(0, 1, { episodes: 100 })]);
    const spread = (x: number): number => (x * 0.95) / (x + 0.05 * (1 - 2 * x));
    const [fast, slow] = [spread(1 - 0.999 ** 100), spread(1 - 0.9998 ** 100)];
    const raw = fast - slow + 0.1 * fast;
    // One of three is different: its z is sqrt 2, that of the others -1 / sqrt 2.
    expect(raw).toBeGreaterThan(0.1);
    const [high, low] = [1 / (1 + Math.exp(-Math.SQRT2)), 1 / (1 + Math.exp(Math.SQRT1_2))];
    const shares = curriculum.shares();
    expect(shares[0]).toBeCloseTo(high / (high + 2 * low), 6);
    expect(shares[1]).toBeCloseTo(low / (high + 2 * low), 6);
    expect(shares[2]).toBe(shares[1]);
    expect(curriculum.metrics()).toMatchObject({
      active: 3,
      tried: 3,
      evicted: 0,
      "progress.b": 0.1,
      "score.c": 0,
    });
    expect(curriculum.metrics()["progress.a"]).toBeCloseTo(raw, 10);
    expect(curriculum.metrics()["score.a"]).toBeCloseTo(0.5 + 0.5 * (1 - 0.999 ** 100), 10);
  });

  it("prefers what is being learned or forgotten to what is known or hopeless", () => {
    const curriculum = learningProgressCurriculum({ lessons: ["learned", "known", "hopeless", "forgotten"] });
    for (let i = 0; i < 200; i++)
      curriculum.trained(
        [i / 200, 1, 0, 1 - i / 200].map((score, lesson) => result(lesson, score, { episodes: 10 })),
      );
    const [learned, known, hopeless, forgotten] = curriculum.shares() as unknown as number[];
    expect(Math.min(learned as number, forgotten as number)).toBeGreaterThan(
      Math.max(known as number, hopeless as number),
    );
  });

  it("takes a score of one's own", () => {
    const curriculum = learningProgressCurriculum({
      lessons: ["a"],
      score: ({ return: mean, positive }) => mean / 500 + positive,
    });
    curriculum.trained([result(0, 100, { positive: 0.25 })]);
    expect(curriculum.metrics()["score.a"]).toBeCloseTo(0.45, 12);
  });

  it("gives a new array when shares change, and the same until then", () => {
    const curriculum = learningProgressCurriculum({ lessons: ["a", "b"] });
    const before = curriculum.shares();
    expect(curriculum.shares()).toBe(before);
    curriculum.trained([]);
    expect(curriculum.shares()).toBe(before);
    curriculum.trained([result(0, 1)]);
    expect(curriculum.shares()).not.toBe(before);
  });

  it("is not moved by evaluations", () => {
    const curriculum = learningProgressCurriculum({ lessons: ["a", "b"] });
    const before = curriculum.getState();
    curriculum.evaluated([result(0, 1, { episodes: 1000 })]);
    expect(curriculum.getState()).toEqual(before);
  });
});

describe("its pool", () => {
  const drawn = (shares: Float32Array): number[] => [...shares.keys()].filter((i) => shares[i]);

  it("holds 64 lessons unless told otherwise", () => {
    expect(drawn(learningProgressCurriculum({ lessons: lessons(100) }).shares())).toHaveLength(64);
  });

  it("lets lessons of the bottom 40% go after 5 episodes, and takes those that wait, in a row", () => {
    const curriculum = learningProgressCurriculum({ lessons: lessons(8), pool: 5 });
    curriculum.trained([result(1, 0.5, { episodes: 4 }), result(3, 0.5, { episodes: 4 })]);
    expect(drawn(curriculum.shares())).toEqual([0, 1, 2, 3, 4]);
    // All make the least progress; the bottom 40% of five are two, those with most episodes.
    curriculum.trained([result(3, 0.5, { episodes: 1 })]);
    expect(drawn(curriculum.shares())).toEqual([0, 1, 2, 4, 5]);
    curriculum.trained([result(1, 0.5), result(0, 0.5, { episodes: 9 }), result(2, 0.5, { episodes: 8 })]);
    expect(drawn(curriculum.shares())).toEqual([1, 4, 5, 6, 7]);
    // Lessons 4 and 1 have had enough. Those that left first come back first, and stay for another 5 episodes.
    curriculum.trained([result(4, 0.5, { episodes: 7 })]);
    expect(drawn(curriculum.shares())).toEqual([0, 3, 5, 6, 7]);
    curriculum.trained([result(3, 0.5, { episodes: 4 })]);
    expect(drawn(curriculum.shares())).toContain(3);
    expect(curriculum.metrics()).toMatchObject({ active: 5, evicted: 5 });
  });

  it("keeps what makes progress", () => {
    const curriculum = learningProgressCurriculum({ lessons: lessons(6), pool: 5 });
    curriculum.trained([0, 1, 2].map((i) => result(i, 0.5)));
    curriculum.trained([0, 1, 2].map((i) => result(i, 1, { episodes: 200 + i })));
    expect(drawn(curriculum.shares())).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("whatever it is told", () => {
  const told = fc.array(
    fc.record({
      lesson: fc.nat(9),
      episodes: fc.nat(1000),
      return: fc.double({ max: 1, noNaN: true, noDefaultInfinity: true }),
      positive: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { maxLength: 60 },
  );

  it("its shares sum to 1, and no number is NaN", () => {
    fc.assert(
      fc.property(told, fc.integer({ min: 1, max: 12 }), (results, pool) => {
        const curriculum = learningProgressCurriculum({ lessons: lessons(10), pool, fast: 0.5, slow: 0.1 });
        for (const each of results) curriculum.trained([each]);
        expect(total(curriculum.shares())).toBeCloseTo(1, 5);
        expect(curriculum.shares().every((share) => share >= 0)).toBe(true);
        expect(Object.values(curriculum.metrics()).every(Number.isFinite)).toBe(true);
      }),
    );
  });

  it("goes on from its state as it would have without", () => {
    fc.assert(
      fc.property(told, told, (before, after) => {
        const options = { lessons: lessons(10), pool: 4, fast: 0.5, slow: 0.1 };
        const [one, other] = [learningProgressCurriculum(options), learningProgressCurriculum(options)];
        for (const each of before) one.trained([each]);
        other.setState(structuredClone(one.getState()) as StateTree);
        for (const each of after) {
          one.trained([each]);
          other.trained([each]);
        }
        expect(other.getState()).toEqual(one.getState());
        expect(other.shares()).toEqual(one.shares());
      }),
    );
  });
});

describe("bad input", () => {
  it.each<[string, object, RegExp]>([
    ["no lessons", { lessons: [] }, /there are no lessons.*OPTION_INVALID/s],
    ["the same name twice", { lessons: ["a", "a"] }, /two lessons are named "a"/],
    ["a name that is none", { lessons: ["a", 3] }, /a lesson is named 3/],
    ["a misspelt option", { lessons: ["a"], pol: 3 }, /no option "pol"; did you mean "pool"/],
    ["a rate that is none", { lessons: ["a"], fast: 2 }, /fast is 2.*from 0 to 1/s],
    ["a baseline that leaves nothing", { lessons: ["a"], baseline: 1 }, /baseline is 1/],
    ["no pool", { lessons: ["a"], pool: 0 }, /pool is 0/],
    ["a score that is no function", { lessons: ["a"], score: "return" }, /score is "return"/],
  ])("refuses %s", (_what, options, message) => {
    expect(() => learningProgressCurriculum(options as LearningProgressOptions)).toThrow(message);
  });

  it("refuses results that would spoil it, and scores that are none", () => {
    const curriculum = learningProgressCurriculum({ lessons: ["a", "b"], score: () => Number.NaN });
    expect(() => curriculum.trained([result(2, 1)])).toThrow(/of lesson 2, and the curriculum has 2 lessons/);
    expect(() => curriculum.trained([result(1, Number.NaN)])).toThrow(
      /lesson "b".*return is NaN.*CURRICULUM_RESULT/s,
    );
    expect(() => curriculum.trained([result(1, 1, { positive: 1.5 })])).toThrow(/positive is 1.5/);
    expect(() => curriculum.trained([result(1, 1, { episodes: -1 })])).toThrow(/episodes is -1/);
    expect(() => curriculum.trained([result(1, 1)])).toThrow(/score gave NaN for lesson "b"/);
  });

  it("warns once of a score above 1, which counts as 1", async () => {
    const warnings: string[] = [];
    const hear = ({ message }: Error): number => warnings.push(message);
    process.on("warning", hear);
    const curriculum = learningProgressCurriculum({ lessons: ["a", "b"] });
    for (const lesson of [0, 1, 0]) curriculum.trained([result(lesson, 7)]);
    await new Promise(setImmediate);
    process.off("warning", hear);
    expect(warnings).toEqual([expect.stringMatching(/score of lesson "a" is 7, which counts as 1/)]);
    expect(curriculum.metrics()["score.a"]).toBe(1);
  });

  it.each([
    ["nothing", []],
    ["NaN", [Number.NaN, 1]],
    ["only 0", [0, 0]],
    ["less than 0", [-1, 2]],
    ["infinity", [1, Number.POSITIVE_INFINITY]],
    ["a sum of 20", [10, 10]],
  ])("refuses shares of %s by which no lesson can be drawn", (_, shares) => {
    const curriculum = { ...evenly(["a", "b"]), shares: () => Float32Array.from(shares) };
    expect(() => sharesOf(curriculum)).toThrow(/for 2 lessons.*CURRICULUM_INVALID/s);
  });

  it("refuses a state of other lessons", () => {
    const state = learningProgressCurriculum({ lessons: ["a", "b"] }).getState();
    expect(() => learningProgressCurriculum({ lessons: ["b", "a"] }).setState(state as never)).toThrow(
      /of the lessons a, b.*of b, a.*STATE_INVALID/s,
    );
    expect(() => learningProgressCurriculum({ lessons: ["a"] }).setState(null)).toThrow(/STATE_INVALID/);
  });
});
