import { describe, expect, it } from "vitest";
import { np, type Value } from "../../engine/index.ts";
import { box, type CompiledEnvironment, defineEnvironment, discrete } from "../../rl/index.ts";
import { checkCompiledEnvironment } from "./check-compiled.ts";

const spaces = { observation: box({ shape: [1] }), action: discrete(2) };

const makeWalk = defineEnvironment({
  name: "Walk",
  ...spaces,
  timeLimit: 6,
  initial: (random) => ({ at: random.integer(3) }),
  step: ({ at }, action) => {
    const next = at + (action === 1 ? 1 : -1);
    return { state: { at: next }, reward: next / 4, terminated: next === 4 };
  },
  observe: ({ at }) => [at],
});

type Walk = { readonly at: Value; readonly steps: Value };
const walk: CompiledEnvironment<Walk> = {
  name: "Walk",
  observationSpace: spaces.observation,
  actionSpace: spaces.action,
  reset: () => ({ at: np.zeros([]), steps: np.zeros([], { dtype: "i32" }) }),
  step: ({ at, steps }, action) => {
    const next = at.add(np.slice(action, 0).mul(2).sub(1));
    return {
      state: { at: next, steps: steps.add(1) },
      reward: next.div(4),
      terminated: np.equal(next, 4),
      truncated: np.greaterEqual(steps, 5),
    };
  },
  observe: ({ at }) => np.reshape(at, [1]),
};

const options = {
  state: (saved: unknown) => {
    const { state, steps } = saved as { state: { at: number }; steps: number };
    return { at: state.at, steps };
  },
  steps: 200,
  engine: "wasm",
} as const;

const check = (changed: Partial<CompiledEnvironment<Walk>>): Promise<void> =>
  checkCompiledEnvironment({ ...walk, ...changed }, makeWalk(), options);

describe("checkCompiledEnvironment", () => {
  it("is content where both go the same way", async () => {
    await expect(check({})).resolves.toBeUndefined();
  });

  it("names an observation beyond the bounds of its box", async () => {
    const narrow = box({ shape: [1], low: -9, high: 3 });
    const ordinary = Object.assign(makeWalk(), { observationSpace: narrow });
    await expect(
      checkCompiledEnvironment({ ...walk, observationSpace: narrow }, ordinary, options),
    ).rejects.toThrow(
      expect.objectContaining({
        code: "ENVIRONMENT_INVALID",
        message: expect.stringMatching(/Walk: step \d+: .* 4 at 0, above 3/),
      }),
    );
  });

  it.each<[string, Partial<CompiledEnvironment<Walk>>, RegExp]>([
    ["a name", { name: "Run" }, /name is "Run" in the compiled environment and "Walk" in the ordinary one/],
    ["a space", { actionSpace: discrete(3) }, /actionSpace is .*"n":3/],
    [
      "an observation",
      { observe: ({ at }) => np.reshape(at.add(1), [1]) },
      /step 0, action \[[01]\]: before/,
    ],
    [
      "a reward",
      { step: (...given) => ({ ...walk.step(...given), reward: np.zeros([]) }) },
      /step \d+, action \[[01]\]: reward is 0 in/,
    ],
    [
      "an ending",
      { step: (...given) => ({ ...walk.step(...given), truncated: np.zeros([], { dtype: "bool" }) }) },
      /truncated is 0 in the compiled environment and 1/,
    ],
    [
      "a state",
      {
        step: (...given) => ({
          ...walk.step(...given),
          state: { ...walk.step(...given).state, steps: given[0].steps },
        }),
      },
      /step 0, action \[[01]\]: state steps is 0 in the compiled environment and 1/,
    ],
  ])("names %s that differs", async (_, changed, message) => {
    await expect(check(changed)).rejects.toThrow(message);
  });

  it("says where a converted state lacks something", async () => {
    const lacking = { ...options, state: () => ({ at: 0 }) };
    await expect(checkCompiledEnvironment(walk, makeWalk(), lacking)).rejects.toThrow(
      "Walk: the converted state's steps is undefined, where 1 numbers belong",
    );
  });
});
