import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstDifference } from "../../state/index.ts";
import { cartPole } from "../environments/classics/cart-pole.ts";
import type { Environment } from "../environments/environment.ts";
import { timeLimit } from "../environments/wrappers/wrap.ts";
import { makePair, makeWanderer, Wanderer } from "./environments.test-support.ts";
import { actionsFor, NaiveLoop, show } from "./naive.test-support.ts";
import { vectorEnvironment } from "./vector-environment.ts";

describe("a vector of environments", () => {
  it("agrees with single environments in a plain loop, whenever their episodes end and whatever the lessons", () => {
    const step = fc.record({
      actions: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 }),
      lessons: fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 4, maxLength: 4 }),
    });
    const seed = fc.integer({ min: 0, max: 2 ** 31 });
    const count = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(seed, count, fc.array(step, { maxLength: 30 }), (seed, count, steps) => {
        const vector = vectorEnvironment({ make: makeWanderer, count });
        const naive = new NaiveLoop(makeWanderer, count);
        vector.reset(seed);
        expect(show(vector)).toEqual(naive.reset(seed, [0, 0, 0, 0]));
        for (const { actions, lessons } of steps) {
          const row = Float32Array.from(actions.slice(0, count));
          vector.nextLessons.set(lessons.slice(0, count));
          vector.step(row);
          expect(show(vector)).toEqual(naive.step(row, lessons));
        }
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it("agrees with them for several agents and action masks", () => {
    const vector = vectorEnvironment({ make: makePair, count: 3 });
    const naive = new NaiveLoop(makePair, 3);
    expect([vector.rows, vector.agents, vector.actionMasks?.length]).toEqual([6, 2, 30]);
    vector.reset(5);
    expect(show(vector)).toEqual(naive.reset(5, []));
    let ended = 0;
    for (let t = 0; t < 100; t++) {
      const actions = actionsFor(vector, t);
      vector.step(actions);
      const shown = show(vector);
      expect(shown).toEqual(naive.step(actions, []));
      ended += shown.ended.length;
    }
    expect(ended).toBeGreaterThan(20);
  });

  it("gives the last observation when an episode ends, and the first of the next one a step later", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 1 });
    vector.reset(3);
    const times: number[][] = [];
    for (let t = 0; t < 12; t++) {
      vector.step(Float32Array.of(0));
      const over = (vector.terminated[0] as number) | (vector.truncated[0] as number);
      times.push([vector.observations[1] as number, over, vector.resets[0] as number]);
    }
    for (const [k, [at, , reset]] of times.entries()) {
      const [before, over] = times[k - 1] ?? [0, 0];
      expect([reset, at]).toEqual(over ? [1, 0] : [0, (before as number) + 1]);
    }
    expect(times.filter(([, over]) => over).length).toBeGreaterThan(1);
  });

  it("seeds each environment differently, and the same way each time", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 8 });
    const first = (seed: number) => {
      vector.reset(seed);
      return Array.from({ length: 8 }, (_, i) => vector.observations[3 * i] as number);
    };
    expect(new Set(first(1)).size).toBe(8);
    expect(first(2)).not.toEqual(first(1));
    expect(first(1)).toEqual(first(1));
  });

  it("tells of episodes once, and forgets those before a reset", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 4 });
    vector.reset(1);
    const actions = new Float32Array(4);
    for (let t = 0; t < 10; t++) vector.step(actions);
    expect(vector.ended().length).toBeGreaterThan(4);
    expect(vector.ended()).toEqual([]);
    for (let t = 0; t < 10; t++) vector.step(actions);
    vector.reset(1);
    expect(vector.ended()).toEqual([]);
  });

  it("begins the lesson that is told when an episode begins, and no sooner", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 2 });
    vector.nextLessons[1] = 1;
    vector.reset(1);
    const lessons = () => [vector.observations[2], vector.observations[5]];
    expect(lessons()).toEqual([0, 1]);
    vector.nextLessons.set([1, 0]);
    const seen = [false, false];
    for (let t = 0; t < 30; t++) {
      vector.step(new Float32Array(2));
      for (const i of [0, 1]) if (vector.resets[i]) seen[i] = true;
      expect(lessons()).toEqual([seen[0] ? 1 : 0, seen[1] ? 0 : 1]);
    }
    expect(seen).toEqual([true, true]);
    const ended = vector.ended();
    expect(new Set(ended.map(({ lesson }) => lesson))).toEqual(new Set([0, 1]));
  });

  it.each([
    ["Wanderer", makeWanderer],
    ["Pair", makePair],
  ])("goes on bit for bit from a state in the middle of %s's episodes", async (_, make) => {
    const vector = vectorEnvironment({ make, count: 5 });
    vector.reset(11);
    if (vector.lessons) vector.nextLessons.set([1, 0, 1, 0, 1]);
    for (let t = 0; t < 17; t++) vector.step(actionsFor(vector, t));
    const state = vector.getState();
    const other = vectorEnvironment({ make, count: 5 });
    other.setState(state);
    expect(await firstDifference(other.getState(), state)).toBeUndefined();
    for (let t = 17; t < 60; t++) {
      for (const one of [vector, other]) one.step(actionsFor(vector, t));
      expect(show(other)).toEqual(show(vector));
    }
    expect(await firstDifference(other.getState(), vector.getState())).toBeUndefined();
    // What was restored is not what goes on.
    other.setState(state);
    expect(await firstDifference(other.getState(), state)).toBeUndefined();
  });

  it("can be saved before it has begun", () => {
    const vector = vectorEnvironment({ make: makeWanderer, count: 2 });
    const other = vectorEnvironment({ make: makeWanderer, count: 2 });
    other.reset(1);
    other.setState(vector.getState());
    expect(() => other.step(new Float32Array(2))).toThrow(
      expect.objectContaining({ code: "ENVIRONMENT_NOT_RESET" }),
    );
  });

  it("closes its environments once", () => {
    const made: Wanderer[] = [];
    const make = () => {
      const environment = new Wanderer();
      made.push(environment);
      return environment;
    };
    const vector = vectorEnvironment({ make, count: 2 });
    vector.close();
    vector.close();
    expect(made.map(({ closed }) => closed)).toEqual(made.map(() => 1));
    expect(() => vector.reset(1)).toThrow(expect.objectContaining({ code: "ENVIRONMENT_CLOSED" }));
  });

  it("says whether its name leads to others than its own", () => {
    const unlike = (make: string | (() => Environment)) => vectorEnvironment({ make, count: 1 }).unlikeNamed;
    expect(unlike("CartPole-v1")).toBe(false);
    expect(unlike(cartPole)).toBe(false);
    expect(unlike(() => timeLimit(cartPole(), 10))).toBe(true);
    expect(unlike(makeWanderer as never)).toBe(false); // a name that nobody has registered
  });

  it("makes registered environments by name", () => {
    const vector = vectorEnvironment({ make: "CartPole-v1", count: 2 });
    vector.reset(0);
    vector.step(Float32Array.of(0, 1));
    expect([vector.name, vector.observations.length]).toEqual(["CartPole-v1", 8]);
  });
});
