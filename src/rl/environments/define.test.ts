import { describe, expect, it } from "vitest";
import { box, dict, discrete, multiDiscrete } from "../spaces/space.ts";
import { defineEnvironment } from "./define.ts";

/** A walk on a line with lessons of length, some noise, and a state that it changes in place. */
const makeWalk = defineEnvironment({
  name: "Walk",
  observation: box({ shape: [2] }),
  action: discrete(2),
  timeLimit: 6,
  lessons: ["short", "long"],
  initial: (random, { lesson }) => ({ at: Float64Array.of(random.normal()), goal: lesson === 0 ? 2 : 50 }),
  step(state, action, random) {
    state.at[0] = (state.at[0] as number) + (action === 1 ? 1 : -1) + random.uniform(-0.1, 0.1);
    return { state, reward: state.at[0], terminated: state.at[0] > state.goal };
  },
  observe: ({ at, goal }) => [at[0] as number, goal],
  draw: ({ at }) => ({ width: 1, height: 1, shapes: [], caption: `at ${at[0]?.toFixed(1)}` }),
});

const episode = (environment = makeWalk(), steps = 6) =>
  Array.from({ length: steps }, () => environment.step(1));

describe("defineEnvironment", () => {
  it("gives the same episode for the same seed and another for another", () => {
    const [a, b, c] = [makeWalk(), makeWalk(), makeWalk()];
    expect(a.reset({ seed: 3, lesson: 1 })).toEqual(b.reset({ seed: 3, lesson: 1 }));
    c.reset({ seed: 4, lesson: 1 });
    const first = episode(a);
    expect(episode(b)).toEqual(first);
    expect(episode(c)).not.toEqual(first);
  });

  it("draws on where it is when reset without a seed", () => {
    const [a, b] = [makeWalk(), makeWalk()];
    const first = a.reset({ seed: 3 });
    expect(a.reset()).not.toEqual(first);
    b.reset({ seed: 3 });
    b.reset();
    expect(b.reset()).toEqual(a.reset());
  });

  it("truncates at its time limit, and takes a step only while an episode goes on", () => {
    const environment = makeWalk();
    expect(() => environment.step(0)).toThrow(expect.objectContaining({ code: "ENVIRONMENT_NOT_RESET" }));
    environment.reset({ seed: 1, lesson: 1 });
    expect(episode(environment).map(({ truncated }) => truncated)).toEqual([...Array(5).fill(false), true]);
    expect(() => environment.step(0)).toThrow(/the episode is over/);
    environment.reset();
    expect(environment.step(1)).toMatchObject({ terminated: false, truncated: false });
  });

  it("goes on from a state in the same way, on the spot or elsewhere, however often", () => {
    const [a, b] = [makeWalk(), makeWalk()];
    a.reset({ seed: 1, lesson: 1 });
    episode(a, 2);
    const state = a.getState();
    const rest = episode(a, 4);
    for (const environment of [a, b, b]) {
      environment.setState(state);
      expect(episode(environment, 4)).toEqual(rest);
    }
    expect(a.reset()).toEqual(b.reset());
  });

  it("saves what has not begun and what is over", () => {
    const [a, b] = [makeWalk(), makeWalk()];
    b.reset({ seed: 9 });
    b.setState(a.getState());
    expect(() => b.step(0)).toThrow(expect.objectContaining({ code: "ENVIRONMENT_NOT_RESET" }));
    expect(b.reset()).toEqual(a.reset());
  });

  it("has the lesson it is told, the first unless told", () => {
    const environment = makeWalk();
    expect(environment.lessons).toEqual(["short", "long"]);
    expect(environment.reset().observation[1]).toBe(2);
    expect(environment.reset({ lesson: 1 }).observation[1]).toBe(50);
    expect(() => environment.reset({ lesson: 2 })).toThrow(/there is no lesson 2 .*\n.*0 to 1: short, long/);
  });

  it("draws what it is", () => {
    const environment = makeWalk();
    expect(() => environment.render?.()).toThrow(expect.objectContaining({ code: "ENVIRONMENT_NOT_RESET" }));
    environment.reset({ seed: 1 });
    expect(environment.render?.().caption).toMatch(/^at -?\d/);
  });

  it("gives out and takes in copies", () => {
    const kept: unknown[] = [];
    const make = defineEnvironment({
      name: "Sharing",
      observation: dict({ seen: box({ shape: [1] }), way: multiDiscrete([3]) }),
      action: box({ shape: [1] }),
      initial: () => ({ seen: Float32Array.of(1), way: Int32Array.of(2), mask: Uint8Array.of(1) }),
      step(state, action) {
        kept.push(action);
        return { state, reward: 0, terminated: false, info: { deep: true } };
      },
      observe: ({ seen, way }) => ({ seen, way }),
    });
    const environment = make();
    const { observation } = environment.reset();
    (observation.seen as Float32Array)[0] = 9;
    (observation.way as Int32Array)[0] = 0;
    const action = Float32Array.of(5);
    const step = environment.step(action);
    expect(step.observation).toEqual({ seen: Float32Array.of(1), way: Int32Array.of(2) });
    expect(step.info).toEqual({ deep: true });
    action[0] = 7;
    expect(kept).toEqual([Float32Array.of(5)]);
  });
});
