import { describe, expect, it } from "vitest";
import { box, dict, discrete, multiDiscrete, type Space } from "../spaces/space.ts";
import { defineEnvironment } from "./define.ts";
import type { Environment } from "./environment.ts";

const fine = {
  name: "Faulty",
  observation: box({ shape: [2] }) as Space,
  action: discrete(2) as Space,
  initial: () => ({ n: 0 }) as unknown,
  step: (state: unknown) => ({ state, reward: 0, terminated: false }) as never,
  observe: () => [1, 2] as unknown,
};

/** Begun, with something wrong. */
function begun(wrong: object, action: unknown = 1): Environment {
  const environment = defineEnvironment({ ...fine, ...wrong } as never)() as Environment;
  environment.reset();
  environment.step(action as number);
  return environment;
}

describe("an environment that breaks its definition", () => {
  it.each<[what: string, wrong: object, words: RegExp]>([
    [
      "sees too few numbers",
      { observe: () => [1] },
      /Faulty: an observation .*it has 1 numbers, where 2 are/,
    ],
    ["sees NaN", { observe: () => [1, NaN] }, /it is NaN at 1/],
    ["sees nothing", { observe: () => undefined }, /it is undefined, where 2 numbers are expected/],
    ["sees later", { observe: async () => [1, 2] }, /it is a promise: environments are synchronous/],
    ["sees lists", { observe: () => [[1, 2]] }, /a list of lists, where 2 flat numbers are expected/],
    ["sees lists of one", { observe: () => [[1], [2]] }, /a list of lists, where 2 flat numbers are/],
    [
      "begins later",
      { initial: async () => ({ n: 0 }) },
      /Faulty: initial gave a promise: environments are synchronous/,
    ],
    ["begins with nothing", { initial: () => undefined }, /Faulty: initial gave undefined/],
    [
      "steps later",
      { step: async (state: unknown) => ({ state, reward: 0, terminated: false }) },
      /Faulty: step gave a promise: environments are synchronous.*\n.*\{ state, reward, terminated \}/,
    ],
    [
      "gives a list",
      { step: () => [[1, 2], 0, false, false, {}] },
      /step gave a list .*\n.*\{ state, reward/,
    ],
    ["gives nothing", { step: () => undefined }, /step gave undefined/],
    ["forgets the state", { step: () => ({ reward: 0, terminated: false }) }, /step gave no state/],
    ["sees text", { observe: () => ["x", 1] }, /it is "x" at 0/],
    [
      "sees what is no choice",
      { observation: discrete(3), observe: () => 3 },
      /it is 3, where a whole number/,
    ],
    [
      "leaves a part out",
      { observation: dict({ a: discrete(2) }), observe: () => ({}) },
      /an observation .*"a" is missing/,
    ],
    [
      "is paid NaN",
      { step: (state: unknown) => ({ state, reward: NaN, terminated: false }) },
      /a reward is NaN/,
    ],
    ["is not paid", { step: (state: unknown) => ({ state, terminated: false }) }, /a reward is undefined/],
    [
      "does not say whether it is over",
      { step: (state: unknown) => ({ state, reward: 0 }) },
      /terminated is und/,
    ],
    ["has a short mask", { actionMask: () => [1] }, /action mask has 1 entries, where 2 are expected/],
  ])("%s", (_, wrong, words) => {
    expect(() => begun(wrong)).toThrow(expect.objectContaining({ code: "ENVIRONMENT_INVALID" }));
    expect(() => begun(wrong)).toThrow(words);
  });

  it.each<[what: string, space: Space, action: unknown, words: RegExp]>([
    ["no choice", discrete(2), 2, /Faulty: an action .*it is 2, where/],
    ["too many choices", multiDiscrete([2]), [0, 1], /it has 2 numbers, where 1 are expected/],
    ["too few numbers", box({ shape: [2] }), [0], /it has 1 numbers, where 2 are expected/],
    ["NaN", box({ shape: [1] }), [NaN], /it is NaN at 0/],
  ])("is given an action that is %s", (_, action, given, words) => {
    expect(() => begun({ action }, given)).toThrow(expect.objectContaining({ code: "ACTION_INVALID" }));
    expect(() => begun({ action }, given)).toThrow(words);
  });

  it("takes actions beyond bounds, which are its own to clip", () => {
    expect(() => begun({ action: box({ shape: [1], low: -1, high: 1 }) }, [5])).not.toThrow();
  });

  it.each<[what: string, state: unknown, words: RegExp]>([
    ["a map", { inner: [new Map()] }, /Faulty: state\.inner\[0\] is a Map, which cannot be saved/],
    ["a function", { act: () => 1 }, /state\.act is a function/],
    ["undefined", { a: undefined }, /state\.a is undefined/],
    ["half floats", { a: new Int16Array(1) }, /state\.a is a Int16Array/],
  ])("holds %s in its state", (_, state, words) => {
    const environment = begun({ initial: () => state });
    expect(() => environment.getState()).toThrow(words);
  });

  it("is given a state that is none", () => {
    const environment = begun({});
    for (const state of [null, {}, { phase: "going", steps: 1 }, 3])
      expect(() => environment.setState(state as never)).toThrow(
        expect.objectContaining({ code: "STATE_INVALID" }),
      );
  });
});

describe("a definition that is none", () => {
  it.each<[wrong: object, words: RegExp]>([
    [{ name: "" }, /name is ""/],
    [{ observation: 4 }, /observation is 4/],
    [{ step: undefined }, /step is missing/],
    [{ timeLimit: 0 }, /timeLimit is 0/],
    [{ agents: 1.5 }, /agents is 1.5/],
    [{ lessons: [] }, /lessons is \[\]/],
    [{ time_limit: 5 }, /there is no option "time_limit"; did you mean "timeLimit"/],
  ])("is refused: %o", (wrong, words) => {
    expect(() => defineEnvironment({ ...fine, ...wrong } as never)).toThrow(words);
  });
});
