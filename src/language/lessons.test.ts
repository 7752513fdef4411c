import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { characterTokenizer } from "../data/index.ts";
import { drawProblems, encodeProblems, isHeldOut, passAtK, type TextLesson, textLessons } from "./lessons.ts";

const { copy, reverse, sort, add, multiply, brackets, alphabet, end } = textLessons;
const fails = (code: string, text: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error;
/** What is between the sign and "=" of a prompt. */
const inner = (prompt: string): string => prompt.replace(/^[a-z]:/, "").slice(0, -1);

describe("textLessons", () => {
  it.each([
    [copy({ length: [1, 6] }), "copy-1-6", (s: string) => s],
    [reverse({ length: 4 }), "reverse-4", (s: string) => [...s].reverse().join("")],
    [sort({ letters: "dcba" }), "sort-5", (s: string) => [...s].sort().join("")],
    [
      add({ digits: [1, 3] }),
      "add-1-3",
      (s: string) => String(s.split("+").reduce((a, b) => a + Number(b), 0)),
    ],
    [multiply(), "multiply-2", (s: string) => String(s.split("*").reduce((a, b) => a * Number(b), 1))],
  ] as const)("%#: has right answers of known characters", async (lesson, name, answerOf) => {
    expect(lesson.name).toBe(name);
    const problems = await drawProblems(lesson, { count: 200, key: 1 });
    for (const { prompt, answer } of problems) expect(answer).toBe(answerOf(inner(prompt)));
    const tokenizer = characterTokenizer(alphabet);
    expect(encodeProblems(lesson, problems, tokenizer)[7]).toEqual(
      tokenizer.encode(problems[7]?.prompt ?? ""),
    );
    expect(new Set(problems.map(({ prompt }) => prompt)).size).toBeGreaterThan(50);
  });

  it("has brackets whose answer closes all that are open", async () => {
    const closing = new Map(["()", "[]", "{}"].map((pair) => [pair[0], pair[1]]));
    const balanced = (text: string): boolean => {
      const open: (string | undefined)[] = [];
      for (const one of text)
        if (closing.has(one)) open.push(closing.get(one));
        else if (open.pop() !== one) return false;
      return open.length === 0;
    };
    const problems = await drawProblems(brackets({ length: [1, 9] }), { count: 500, key: 2 });
    for (const { prompt, answer = "" } of problems) {
      expect(answer).not.toBe("");
      expect(balanced(inner(prompt) + answer)).toBe(true);
    }
    expect(problems.some(({ prompt }) => /[)\]}]/.test(prompt))).toBe(true);
  });

  it("draws numbers with the digits and strings of the lengths that were asked for", async () => {
    const sums = await drawProblems(add({ digits: 2 }), { count: 300, key: 3 });
    for (const { prompt } of sums) expect(prompt).toMatch(/^[1-9]\d\+[1-9]\d=$/);
    const single = await drawProblems(add({ digits: 1 }), { count: 300, key: 3 });
    expect(new Set(single.flatMap(({ prompt }) => inner(prompt).split("+"))).size).toBe(10);
    const lengths = await drawProblems(copy({ length: [2, 4] }), { count: 100, key: 3 });
    expect(new Set(lengths.map(({ answer }) => answer?.length))).toEqual(new Set([2, 3, 4]));
    expect(alphabet).toContain(end);
  });

  it("says which option is wrong", () => {
    expect(() => add({ digits: 0 })).toThrow(fails("OPTION_INVALID", /textLessons\.add: digits is 0/));
    expect(() => multiply({ digits: 8 })).toThrow(fails("OPTION_INVALID", /from 1 to 7/));
    expect(() => copy({ length: [3, 2] })).toThrow(fails("OPTION_INVALID", /length is \[3,2\]/));
    expect(() => brackets({ letters: "()[" })).toThrow(fails("OPTION_INVALID", /brackets: letters/));
    const misspelt = { digits: 2, digit: 2 };
    expect(() => add(misspelt)).toThrow(fails("OPTION_UNKNOWN", /"digit"; did you mean "digits"/));
  });
});

describe("drawProblems", () => {
  it("gives the same problems for the same key, and others for another", async () => {
    const lesson = add();
    const first = await drawProblems(lesson, { count: 50, key: 5 });
    expect(await drawProblems(add(), { count: 50, key: Uint32Array.of(0, 5) })).toEqual(first);
    expect((await drawProblems(lesson, { count: 80, key: 5 })).slice(0, 50)).toEqual(first);
    expect(await drawProblems(lesson, { count: 50, key: 6 })).not.toEqual(first);
    // Runs that were recorded have these prompts and parts.
    expect(first.slice(0, 3).map(({ prompt }) => prompt)).toMatchInlineSnapshot(`
      [
        "45+90=",
        "35+67=",
        "77+33=",
      ]
    `);
    const held = await drawProblems(lesson, { count: 3, key: 5, part: "held-out" });
    expect(held.map(({ prompt }) => prompt)).toMatchInlineSnapshot(`
      [
        "54+77=",
        "24+53=",
        "60+43=",
      ]
    `);
  });

  it.each([0.1, 0.5])("never gives a prompt to both parts, with %d held out", async (heldOut) => {
    const train = new Set<string>();
    const held = new Set<string>();
    for (let key = 0; key < 10; key++) {
      for (const { prompt } of await drawProblems(add(), { count: 400, key, heldOut })) train.add(prompt);
      for (const { prompt } of await drawProblems(add(), { count: 100, key, heldOut, part: "held-out" }))
        held.add(prompt);
    }
    expect([...held].filter((prompt) => train.has(prompt))).toEqual([]);
    // Of the 8100 prompts that there are.
    const all = Array.from({ length: 8100 }, (_, i) => `${10 + Math.floor(i / 90)}+${10 + (i % 90)}=`);
    expect(held.size).toBeGreaterThan(400);
    const share = all.filter((prompt) => isHeldOut(prompt, heldOut)).length / all.length;
    expect(Math.abs(share - heldOut)).toBeLessThan(0.02);
  });

  const one: TextLesson = { name: "one", problem: () => ({ prompt: "same=", answer: "x" }) };

  it("says that a lesson has nothing for a part, or never answers", async () => {
    const draw = (lesson: TextLesson, options = {}) => drawProblems(lesson, { count: 1, key: 0, ...options });
    const parts = await Promise.allSettled([draw(one), draw(one, { part: "held-out" })]);
    expect(parts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(parts.find(({ status }) => status === "rejected")).toMatchObject({
      reason: fails("LESSON_EMPTY", /lesson "one".*held-out.*10000 draws/),
    });
    await expect(draw(add(), { part: "held-out", heldOut: 0 })).rejects.toThrow(
      fails("LESSON_EMPTY", /add-2/),
    );
    const hangs: TextLesson = { name: "hangs", problem: () => new Promise(() => undefined) };
    // Not an instance of our Promise, as those of other realms and of libraries.
    const foreign = (): Promise<never> => runInNewContext("new Promise(() => undefined)");
    for (const lesson of [hangs, { ...hangs, problem: foreign }])
      await expect(draw(lesson, { timeout: 20 })).rejects.toThrow(fails("LESSON_EMPTY", /"hangs".*20 ms/));
    const stop = new AbortController();
    const waiting = draw(hangs, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
  });

  it("takes asynchronous problems, and names a lesson that fails or gives something else", async () => {
    const later: TextLesson = { name: "later", problem: async (random) => one.problem(random) };
    expect(await drawProblems(later, { count: 2, key: 0 })).toEqual(
      [1, 2].map(() => ({ prompt: "same=", answer: "x" })),
    );
    const draw = (problem: () => unknown) =>
      drawProblems({ name: "own", problem: problem as TextLesson["problem"] }, { count: 1, key: 0 });
    const broken = draw(() => {
      throw new Error("no file");
    });
    await expect(broken).rejects.toThrow(fails("LESSON_FAILED", /"own".*no file/));
    await expect(draw(() => ({ answer: "1" }))).rejects.toThrow(fails("LESSON_INVALID", /"own".*no prompt/));
    await expect(draw(() => ({ prompt: "a", answer: 1 }))).rejects.toThrow(
      fails("LESSON_INVALID", /answer 1/),
    );
    await expect(draw(() => ({ prompt: "a" }))).rejects.toThrow(fails("LESSON_INVALID", /without an answer/));
  });
});

describe("encodeProblems", () => {
  it("names the lesson and the character that tokenizer or model do not know", async () => {
    const problems = [{ prompt: "1+2=", answer: "3" }];
    const encode = (text: string, vocabulary?: number) => () =>
      encodeProblems(add(), problems, characterTokenizer(text), vocabulary);
    expect(encode("0123456789=")).toThrow(fails("VOCABULARY_MISMATCH", /"add-2".*tokenizer.*know "\+"/));
    expect(encode("012+=")).toThrow(fails("VOCABULARY_MISMATCH", /"add-2".*tokenizer.*know "3"/));
    expect(encode("0123+=", 5)).toThrow(fails("VOCABULARY_MISMATCH", /"add-2".*model.*5 tokens.*know "="/));
    expect(encode("0123+=")()).toHaveLength(1);
  });
});

describe("passAtK", () => {
  it("is the share of sets of k samples with a right one", () => {
    const n = 6;
    for (let correct = 0; correct <= n; correct++)
      for (let k = 1; k <= n; k++) {
        const sets = Array.from({ length: 2 ** n }, (_, set) => set).filter(
          (set) => [...set.toString(2)].filter((bit) => bit === "1").length === k,
        );
        // The first ones are right.
        const hit = sets.filter((set) => (set & (2 ** correct - 1)) !== 0).length;
        expect(passAtK(n, correct, k)).toBeCloseTo(hit / sets.length, 12);
      }
    expect(passAtK(100_000, 1, 50_000)).toBeCloseTo(0.5, 9);
  });

  it("refuses more than there are", () => {
    expect(() => passAtK(4, 5, 1)).toThrow(fails("OPTION_INVALID", /correct is 5/));
    expect(() => passAtK(4, 1, 5)).toThrow(fails("OPTION_INVALID", /k is 5/));
  });
});
