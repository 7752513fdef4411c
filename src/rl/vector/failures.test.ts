import { describe, expect, it } from "vitest";
import type { EspalierError } from "../../core/index.ts";
import { failureOf } from "../../hooks/hooks.test-support.ts";
import type { Environment } from "../environments/environment.ts";
import {
  actionOf,
  type FaultName,
  Fragile,
  makeFragile,
  makeNothing,
  makePair,
  makeWanderer,
  Wanderer,
} from "./environments.test-support.ts";
import { show } from "./naive.test-support.ts";
import { vectorEnvironment } from "./vector-environment.ts";

/** Three steps go well; in the fourth the second of three environments goes wrong. */
function spoil(fault: FaultName, make: (index: number) => Environment = makeFragile): EspalierError {
  const vector = vectorEnvironment({ make, count: 3 });
  vector.reset(1);
  for (let t = 0; t < 3; t++) vector.step(new Float32Array(3));
  return failureOf(() => vector.step(Float32Array.of(0, actionOf(fault), 0)));
}

describe("an environment that fails", () => {
  it.each<[fault: FaultName, code: string, what: RegExp]>([
    ["NaN", "ENVIRONMENT_INVALID", /gave an observation that is NaN at 1/],
    ["shape", "ENVIRONMENT_INVALID", /gave a wrong observation: it has 4 numbers, where 3 are expected/],
    ["missing", "ENVIRONMENT_INVALID", /gave an object without an observation/],
    ["truncated", "ENVIRONMENT_INVALID", /gave undefined as truncated/],
    ["terminated", "ENVIRONMENT_INVALID", /gave 1 as terminated/],
    ["reward", "ENVIRONMENT_INVALID", /gave NaN as its reward/],
    ["mask", "ENVIRONMENT_INVALID", /gave an action mask of length 3, and 14 choices/],
    ["undefined", "ENVIRONMENT_INVALID", /step\(\) gave undefined \[/],
    ["invalid", "ENVIRONMENT_INVALID", /threw Fragile: knows itself/],
    ["throw", "ENVIRONMENT_FAILED", /threw TypeError: out of order/],
  ])("with %s is named with its index and step", (fault, code, what) => {
    const error = spoil(fault);
    expect(error).toMatchObject({ code, fix: expect.any(String) });
    expect(error.message).toMatch(/^Fragile \(environment 1 of its vector, step 4\): step\(\) /);
    expect(error.message).toMatch(what);
  });

  it.each<[string, object, RegExp]>([
    ["a number that is null", { observation: [0, null, 0] }, /a wrong observation: it is null at 1/],
    ["a number in a text", { observation: ["0", 1, 2] }, /a wrong observation: it is "0" at 0/],
    ["a reward beyond single precision", { reward: 1e39 }, /gave 1e\+39 as its reward/],
  ])("with %s is refused", (_, members, what) => {
    class Wrong extends Wanderer {
      override step(action: unknown) {
        return { ...super.step(action), ...members };
      }
    }
    const vector = vectorEnvironment({ make: () => new Wrong(), count: 1 });
    vector.reset(1);
    const error = failureOf(() => vector.step(new Float32Array(1)));
    expect(error.code).toBe("ENVIRONMENT_INVALID");
    expect(error.message).toMatch(what);
  });

  it("with a state that cannot be saved is told how to keep it", () => {
    class Odd extends Wanderer {
      override getState(): never {
        return { next: () => 1 } as never;
      }
    }
    const vector = vectorEnvironment({ make: () => new Odd(), count: 1 });
    vector.reset(1);
    expect(failureOf(() => vector.getState())).toMatchObject({
      code: "ENVIRONMENT_FAILED",
      message: expect.stringMatching(/getState\(\) threw .*state\.next is a function/),
      fix: expect.stringMatching(/^keep plain objects/),
    });
  });

  it("keeps what it threw as the cause", () => {
    expect(spoil("throw").cause).toEqual(new TypeError("out of order"));
  });

  it("stops the vector until it begins anew", () => {
    const vector = vectorEnvironment({ make: makeFragile, count: 2 });
    vector.reset(1);
    vector.step(new Float32Array(2));
    const state = vector.getState();
    const error = failureOf(() => vector.step(Float32Array.of(0, actionOf("throw"))));
    expect(failureOf(() => vector.step(new Float32Array(2)))).toBe(error);
    expect(failureOf(() => vector.getState())).toBe(error);
    vector.setState(state);
    vector.step(new Float32Array(2));
    const other = vectorEnvironment({ make: makeFragile, count: 2 });
    other.reset(1);
    for (let t = 0; t < 2; t++) other.step(new Float32Array(2));
    expect(show(vector)).toEqual(show(other));
  });

  it("is named when it cannot be made", () => {
    const error = failureOf(() => vectorEnvironment({ make: makeNothing, count: 2 }));
    expect(error.code).toBe("ENVIRONMENT_FAILED");
    expect(error.message).toMatch(
      /environment 0 of its vector, step 0\): make\(\) threw RangeError: no such world/,
    );
  });

  it("is named when it fails as it begins, or is saved or restored", () => {
    class Bad extends Wanderer {
      override reset(): never {
        throw new Error("no start");
      }
    }
    class Closed extends Wanderer {
      override getState(): never {
        throw new Error("secret");
      }
      override setState(): never {
        throw new Error("stubborn");
      }
    }
    const begin = vectorEnvironment({ make: (i) => (i === 1 ? new Bad() : new Wanderer()), count: 2 });
    expect(failureOf(() => begin.reset(1)).message).toMatch(
      /environment 1 .* step 0\): reset\(\) threw Error: no start/,
    );
    const closed = vectorEnvironment({ make: () => new Closed(), count: 1 });
    closed.reset(1);
    expect(failureOf(() => closed.getState()).message).toMatch(/getState\(\) threw Error: secret/);
    const open = vectorEnvironment({ make: makeWanderer, count: 1 });
    open.reset(1);
    expect(failureOf(() => closed.setState(open.getState())).message).toMatch(
      /setState\(\) threw Error: stubborn/,
    );
  });
});

describe("an environment that is made again", () => {
  const restarting = (onRestart: (error: EspalierError) => void = () => undefined) =>
    vectorEnvironment({ make: makeFragile, count: 3, onFailure: "restart", onRestart });

  it("ends its episode as truncated with the last good observation, then begins another, and nothing else changes", () => {
    const told: EspalierError[] = [];
    const vector = restarting((error) => told.push(error));
    const undisturbed = restarting();
    for (const one of [vector, undisturbed]) {
      one.reset(1);
      for (let t = 0; t < 3; t++) one.step(new Float32Array(3));
    }
    const last = [...vector.observations.subarray(3, 6)];
    const total = vector.rewards[1] as number;
    expect(total).toBeGreaterThan(0);
    vector.step(Float32Array.of(0, actionOf("NaN"), 0));
    expect([...vector.observations.subarray(3, 6)]).toEqual(last);
    expect([...vector.truncated]).toEqual([0, 1, 0]);
    expect([...vector.terminated, vector.rewards[1], vector.resets[1]]).toEqual([0, 0, 0, 0, 0]);
    expect(vector.ended()).toEqual([
      { environment: 1, agent: 0, return: expect.any(Number), length: 3, lesson: 0, terminated: false },
    ]);
    vector.step(new Float32Array(3));
    expect([vector.resets[1], vector.observations[4]]).toEqual([1, 0]);
    for (let t = 0; t < 2; t++) undisturbed.step(new Float32Array(3));
    for (let t = 0; t < 60; t++) {
      for (const i of [0, 2])
        expect(vector.observations.subarray(3 * i, 3 * i + 3)).toEqual(
          undisturbed.observations.subarray(3 * i, 3 * i + 3),
        );
      for (const one of [vector, undisturbed]) one.step(new Float32Array(3));
    }
    expect([...vector.restarts]).toEqual([0, 1, 0]);
    expect(told.map(({ code }) => code)).toEqual(["ENVIRONMENT_INVALID"]);
  });

  it("draws other random numbers, which follow from the seed", () => {
    const firstAfter = (seed: number) => {
      const vector = restarting();
      vector.reset(seed);
      const begun = vector.observations[3];
      vector.step(Float32Array.of(0, actionOf("throw"), 0));
      vector.step(new Float32Array(3));
      return [begun, vector.observations[3]];
    };
    const [begun, again] = firstAfter(1);
    expect(again).not.toBe(begun);
    expect(firstAfter(1)).toEqual([begun, again]);
  });

  it("is part of the state between its failure and its next episode", () => {
    const vector = restarting();
    vector.reset(1);
    vector.step(Float32Array.of(0, actionOf("throw"), 0));
    const other = restarting();
    other.setState(vector.getState());
    expect([...other.restarts]).toEqual([0, 1, 0]);
    vector.ended();
    other.ended();
    for (let t = 0; t < 5; t++) {
      for (const one of [vector, other]) one.step(new Float32Array(3));
      expect(show(other)).toEqual(show(vector));
    }
  });

  it("is one that is allowed to, by index", () => {
    const vector = vectorEnvironment({
      make: makeFragile,
      count: 2,
      onFailure: (index) => (index === 0 ? "restart" : "stop"),
      onRestart: () => undefined,
    });
    vector.reset(1);
    vector.step(Float32Array.of(actionOf("throw"), 0));
    expect(failureOf(() => vector.step(Float32Array.of(0, actionOf("throw")))).code).toBe(
      "ENVIRONMENT_FAILED",
    );
  });

  it("begins at once when it was its beginning that failed", () => {
    let bad = true;
    class Late extends Fragile {
      override reset(options = {}) {
        if (bad && this.walk.t === 40) throw new Error("worn out");
        return super.reset(options);
      }
    }
    const told: EspalierError[] = [];
    const vector = vectorEnvironment({
      make: () => new Late(),
      count: 1,
      onFailure: "restart",
      onRestart: (error) => told.push(error),
    });
    vector.reset(1);
    for (let t = 0; t < 41; t++) vector.step(new Float32Array(1));
    expect([vector.resets[0], vector.observations[1], vector.restarts[0]]).toEqual([1, 0, 1]);
    expect(told[0]?.message).toMatch(/step 41\): reset\(\) threw Error: worn out/);
    bad = false;
  });

  it("stops when it fails each time", () => {
    const vector = restarting();
    vector.reset(1);
    const bad = Float32Array.of(0, actionOf("throw"), 0);
    for (let t = 0; t < 4; t++) vector.step(bad);
    const error = failureOf(() => vector.step(bad));
    expect(error.message).toMatch(/threw TypeError: out of order; .* fails each time/);
    expect([...vector.restarts]).toEqual([0, 2, 0]);
  });

  it("may fail as often as it likes as long as it steps in between", () => {
    const vector = restarting();
    vector.reset(1);
    for (let k = 0; k < 6; k++) {
      vector.step(Float32Array.of(0, actionOf("throw"), 0));
      for (let t = 0; t < 2; t++) vector.step(new Float32Array(3));
    }
    expect([...vector.restarts]).toEqual([0, 6, 0]);
  });
});

describe("what a vector is given", () => {
  it("is refused before anything steps", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 2 });
    expect(failureOf(() => vector.step(new Float32Array(2))).code).toBe("ENVIRONMENT_NOT_RESET");
    expect(failureOf(() => vector.reset(0.5)).code).toBe("SEED_INVALID");
    vector.reset(1);
    const before = [...vector.observations];
    expect(failureOf(() => vector.step(new Float32Array(3))).code).toBe("SHAPE_MISMATCH");
    const error = failureOf(() => vector.step(Float32Array.of(0, Number.NaN)));
    expect(error.code).toBe("ACTION_INVALID");
    expect(error.message).toMatch(/the action of row 1 is NaN, where a whole number from 0 to 3/);
    expect([...vector.observations]).toEqual(before);
    vector.step(new Float32Array(2));
  });

  it("may be anything for a row whose action is ignored", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 1 });
    vector.reset(1);
    while (!vector.terminated[0] && !vector.truncated[0]) vector.step(new Float32Array(1));
    vector.step(Float32Array.of(Number.NaN));
    expect(vector.resets[0]).toBe(1);
  });

  it("has lessons that exist", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 2 });
    vector.nextLessons[1] = 2;
    expect(failureOf(() => vector.reset(1)).message).toMatch(
      /2 for environment 1, and Wanderer has the lessons 0 to 1/,
    );
    const without = vectorEnvironment({ make: makePair, count: 1 });
    without.nextLessons[0] = 1;
    expect(failureOf(() => without.reset(1)).message).toMatch(/Pair has no lessons/);
  });

  it("is a state of such a vector", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 2 });
    expect(failureOf(() => vector.setState({ a: 1 })).code).toBe("STATE_INVALID");
    const state = vectorEnvironment({ make: makeWanderer, count: 3 }).getState();
    expect(failureOf(() => vector.setState(state)).message).toMatch(
      /of 3 environments "Wanderer" with 9 observations/,
    );
  });

  it("are environments that are alike, and options that exist", () => {
    const mixed = (i: number) => (i === 0 ? makeWanderer() : makeFragile());
    expect(failureOf(() => vectorEnvironment({ make: mixed, count: 2 })).message).toMatch(
      /the actionSpace of Fragile \(environment 1 of its vector\) is not that of environment 0/,
    );
    expect(failureOf(() => vectorEnvironment({ make: makeWanderer, count: 0 })).code).toBe("OPTION_INVALID");
    const onFailure = "ignore" as "stop";
    expect(failureOf(() => vectorEnvironment({ make: makeWanderer, count: 1, onFailure })).message).toMatch(
      /onFailure is "ignore"/,
    );
  });
});
