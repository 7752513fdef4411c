import { describe, expect, it } from "vitest";
import { box, discrete } from "../spaces/space.ts";
import { defineEnvironment } from "./define.ts";

/** Agents that count what they did. */
const makeCounters = (agents: number) =>
  defineEnvironment({
    name: "Counters",
    agents,
    observation: box({ shape: [1] }),
    action: discrete(3),
    initial: () => ({ counts: Array.from({ length: agents }, () => 0) }),
    step({ counts }, actions) {
      const next = counts.map((count, i) => count + (actions[i] as number));
      return { state: { counts: next }, reward: next, terminated: next[0] === 4 };
    },
    observe: ({ counts }) => counts.map((count) => [count]),
    actionMask: ({ counts }) => counts.flatMap((count) => [true, true, count < 1]),
  })();

describe("an environment with several agents", () => {
  it("has lists of observations, rewards and actions, and masks one after the other", () => {
    const environment = makeCounters(2);
    expect(environment.agents).toBe(2);
    expect(environment.reset()).toEqual({
      observation: [Float32Array.of(0), Float32Array.of(0)],
      actionMask: Uint8Array.of(1, 1, 1, 1, 1, 1),
    });
    expect(environment.step([2, 0])).toEqual({
      observation: [Float32Array.of(2), Float32Array.of(0)],
      reward: [2, 0],
      terminated: false,
      truncated: false,
      actionMask: Uint8Array.of(1, 1, 0, 1, 1, 1),
    });
    expect(environment.step([2, 1]).terminated).toBe(true);
  });

  it("has none where there is one agent", () => {
    const environment = makeCounters(1) as unknown as ReturnType<typeof single>;
    expect(environment.reset().observation).toEqual(Float32Array.of(0));
    expect(environment.step(2)).toMatchObject({ observation: Float32Array.of(2), reward: 2 });
  });

  it("refuses another number of actions", () => {
    const environment = makeCounters(2);
    environment.reset();
    expect(() => environment.step([1])).toThrow(/Counters: \[1\] is no list of 2 actions/);
    expect(() => environment.step([1, 3])).toThrow(expect.objectContaining({ code: "ACTION_INVALID" }));
  });
});

const single = defineEnvironment({
  name: "Single",
  observation: box({ shape: [1] }),
  action: discrete(3),
  initial: () => 0,
  step: (state) => ({ state, reward: 0, terminated: false }),
  observe: (state) => [state],
});
