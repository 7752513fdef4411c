import { expectTypeOf } from "vitest";
import { box, dict, discrete, multiDiscrete } from "../spaces/space.ts";
import { defineEnvironment } from "./define.ts";
import type { Environment } from "./environment.ts";

// State, action and observation are inferred from the definition.

const make = defineEnvironment({
  name: "typed",
  observation: dict({ seen: box({ shape: [2] }), way: discrete(3) }),
  action: multiDiscrete([2, 2]),
  initial: (random) => ({ at: random.uniform(), names: ["a"] }),
  step(state, action) {
    expectTypeOf(state).toEqualTypeOf<{ at: number; names: string[] }>();
    expectTypeOf(action).toEqualTypeOf<Int32Array>();
    return { state, reward: 1, terminated: false };
  },
  observe: ({ at }) => ({ seen: [at, at], way: 1 }),
});
const environment = make();
expectTypeOf(environment).toExtend<Environment>();
expectTypeOf(environment.step([0, 1]).observation.seen).toEqualTypeOf<Float32Array>();
expectTypeOf(environment.step([0, 1]).reward).toEqualTypeOf<number>();
// @ts-expect-error: it takes two choices
environment.step("left");

// With agents they are lists.

const team = defineEnvironment({
  name: "team",
  agents: 2,
  observation: box({ shape: [1] }),
  action: discrete(2),
  initial: () => 0,
  step(state, actions) {
    expectTypeOf(actions).toEqualTypeOf<readonly number[]>();
    return { state, reward: [1, 0], terminated: false };
  },
  observe: (state) => [[state], [state]],
})();
expectTypeOf(team.step([0, 1]).observation).toEqualTypeOf<readonly Float32Array[]>();
expectTypeOf(team.step([0, 1]).reward).toEqualTypeOf<readonly number[]>();

defineEnvironment({
  name: "wrong",
  observation: box({ shape: [1] }),
  action: discrete(2),
  initial: () => 0,
  step: (state) => ({ state, reward: 0, terminated: false }),
  // @ts-expect-error: a box is a list of numbers
  observe: () => "here",
});

defineEnvironment({
  name: "endless",
  observation: box({ shape: [1] }),
  action: discrete(2),
  initial: () => 0,
  // @ts-expect-error: it must say whether the episode is over
  step: (state) => ({ state, reward: 0 }),
  observe: (state) => [state],
});
