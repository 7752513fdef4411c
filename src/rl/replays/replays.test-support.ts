import { defineEnvironment } from "../environments/define.ts";
import type { Environment } from "../environments/environment.ts";
import { box, discrete, multiDiscrete } from "../spaces/space.ts";
import type { Replay } from "./replay.ts";

export interface WalkOptions {
  /** How far a step leads, where a later version of the environment is meant. */
  readonly stride?: number;
  /** The step from which on it does. */
  readonly from?: number;
  readonly reward?: number;
  readonly goal?: number;
  readonly name?: string;
  readonly choices?: number;
}

/** Left or right on a line, from a random place, until the goal or 30 steps. */
export const walk = (options: WalkOptions = {}): Environment => {
  const { stride = 1, from = 0, reward = 1, goal = 5, name = "Walk", choices = 2 } = options;
  return defineEnvironment({
    ...{ name, timeLimit: 30, lessons: ["short", "long"] },
    observation: box({ shape: [1] }),
    action: discrete(choices),
    initial: (random, { lesson }) => ({ at: random.integer(3) - 1 - 5 * lesson, steps: 0 }),
    step: ({ at, steps }, action) => {
      const next = at + (action === 1 ? 1 : -1) * (steps >= from ? stride : 1);
      return {
        state: { at: next, steps: steps + 1 },
        reward: next >= goal ? reward : -0.1,
        terminated: next >= goal,
      };
    },
    observe: ({ at }) => [at],
    draw: ({ at, steps }) => ({
      width: 20,
      height: 2,
      shapes: [
        { kind: "line", from: [0, 1.5], to: [20, 1.5], color: "gray", width: 0.2 },
        { kind: "rectangle", at: [10 + at, 0.5], size: [1, 1], color: "#3b6ea5" },
      ],
      caption: `step ${steps}`,
    }),
  })();
};

/** Two who each choose two things, and push numbers around. */
export const pair = (): Environment =>
  defineEnvironment({
    ...{ name: "Pair", timeLimit: 4, agents: 2 },
    observation: box({ shape: [2] }),
    action: multiDiscrete([3, 2]),
    initial: (random) => ({ at: [random.uniform(), random.uniform()] }),
    step: ({ at: [a = 0, b = 0] }, [first, second]) => ({
      state: { at: [a + (first?.[0] ?? 0), b + (second?.[1] ?? 0)] },
      reward: [a, b],
      terminated: false,
    }),
    observe: ({ at: [a = 0, b = 0] }) => [
      [a, b],
      [b, a],
    ],
  })();

/** A number that is pushed by a number. */
export const slide = (): Environment =>
  defineEnvironment({
    ...{ name: "Slide", timeLimit: 100 },
    observation: box({ shape: [1] }),
    action: box({ shape: [1], low: -1, high: 1 }),
    initial: (random) => ({ at: random.uniform() }),
    step: ({ at }, [push = 0]) => ({ state: { at: 0.9 * at + push }, reward: -at * at, terminated: false }),
    observe: ({ at }) => [at],
  })();

/** The episode that is filed as `fixtures/version-1.replay`. */
export const filed: Replay = {
  environment: "CartPole-v1",
  lesson: 2,
  lessonName: "windy",
  seed: 1234567890123,
  agents: 1,
  length: 5,
  actions: Float32Array.of(0, 1, 1, 0, 1),
  returns: [4.5],
  return: 4.5,
  end: "truncated",
  observations: { digest: "00ff".repeat(16), every: 2, marks: Uint32Array.of(7, 4294967295, 0) },
  about: { step: 1200, checkpoint: "runs/a", best: true },
};
