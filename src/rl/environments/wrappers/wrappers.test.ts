import { describe, expect, it } from "vitest";
import { buildPolicy } from "../../policies/build.ts";
import { box, dict, discrete, multiDiscrete, type Space, type SpaceValue } from "../../spaces/space.ts";
import { cartPole } from "../classics/cart-pole.ts";
import { pendulum } from "../classics/pendulum.ts";
import { defineEnvironment } from "../define.ts";
import type { Environment } from "../environment.ts";
import { frameStack } from "./frame-stack.ts";
import { normalizeObservations, normalizeRewards } from "./normalize.ts";
import { clipActions, clipObservations, clipRewards, maskActions, timeLimit, wrap } from "./wrap.ts";

/** It sees the last action, is paid it, and ends at 9. */
const makeEcho = (options: { readonly agents?: number; readonly space?: Space } = {}): Environment =>
  defineEnvironment<unknown, Space, Space, number>({
    name: "Echo",
    agents: options.agents ?? 1,
    observation: options.space ?? box({ shape: [1], low: -9, high: 9 }),
    action: options.space ?? box({ shape: [1], low: -2, high: 2 }),
    initial: () => (options.space ? null : Array.from({ length: options.agents ?? 1 }, () => [0])),
    step: (_, actions) => {
      const acted = (actions as unknown as number[][]).map((action) =>
        options.space ? action : [...action],
      );
      const paid = acted.map((action) => (options.space ? 0 : (action[0] as number)));
      return { state: acted, reward: paid, terminated: paid[0] === 9 };
    },
    observe: (state) => (state ?? [start(options.space as Space)]) as SpaceValue[],
  })();

const start = (space: Space): SpaceValue =>
  space.kind === "discrete" ? 1 : space.kind === "dict" ? { a: 1, b: [1, 1] } : [1, 1];

describe("timeLimit", () => {
  it("truncates, also what terminates then, and begins anew with each episode", () => {
    const environment = timeLimit(makeEcho(), 2);
    for (let episode = 0; episode < 2; episode++) {
      environment.reset();
      expect(environment.step([1]).truncated).toBe(false);
      expect(environment.step([9])).toMatchObject({ terminated: true, truncated: true });
    }
  });

  it("keeps its time in its state", () => {
    const [a, b] = [timeLimit(makeEcho(), 3), timeLimit(makeEcho(), 3)];
    a.reset();
    a.step([1]);
    a.step([1]);
    b.setState(a.getState());
    expect(b.step([1]).truncated).toBe(true);
    expect(() => timeLimit(makeEcho(), 0)).toThrow(/steps is 0/);
  });
});

describe("clipping", () => {
  it("gives the environment actions within its bounds and takes any", () => {
    const environment = clipActions(makeEcho());
    expect(environment.actionSpace).toEqual(box({ shape: [1] }));
    environment.reset();
    expect(environment.step([5]).observation).toEqual(Float32Array.of(2));
    expect(environment.step([-5]).observation).toEqual(Float32Array.of(-2));
    expect(environment.step([0.5]).observation).toEqual(Float32Array.of(0.5));
  });

  it("keeps rewards within bounds, one of which may be left out", () => {
    const environment = clipRewards(makeEcho(), { high: 1 });
    environment.reset();
    expect(environment.step([2]).reward).toBe(1);
    expect(environment.step([-2]).reward).toBe(-2);
    expect(() => clipRewards(makeEcho(), {})).toThrow(/low is -Infinity and high is Infinity/);
    expect(() => clipRewards(makeEcho(), { low: 1, high: 0 })).toThrow(/low is 1 and high is 0/);
  });

  it("keeps observations within bounds and says so in their space", () => {
    const environment = clipObservations(makeEcho(), { low: -1, high: 10 });
    expect(environment.observationSpace).toEqual(box({ shape: [1], low: [-1], high: [9] }));
    environment.reset();
    expect(environment.step([-2]).observation).toEqual(Float32Array.of(-1));
  });
});

describe("frameStack", () => {
  it("stacks choices and parts as well", () => {
    const space = dict({ a: discrete(3), b: multiDiscrete([2, 3]) });
    const environment = frameStack(makeEcho({ space }), 2, { padding: "zero" });
    expect(environment.observationSpace).toEqual(
      dict({ a: multiDiscrete([3, 3]), b: multiDiscrete([2, 3, 2, 3]) }),
    );
    expect(environment.reset().observation).toEqual({ a: Int32Array.of(0, 1), b: Int32Array.of(0, 0, 1, 1) });
    expect(environment.step({ a: 2, b: [0, 2] }).observation).toEqual({
      a: Int32Array.of(1, 2),
      b: Int32Array.of(1, 1, 0, 2),
    });
  });

  /** Pictures [2, 1, 2] of which the n-th holds n, n + 0.25, n + 0.5, n + 0.75. */
  const makeScreen = defineEnvironment({
    name: "Screen",
    observation: box({ shape: [2, 1, 2], low: 0, high: [255, 9, 255, 9] }),
    action: discrete(2),
    initial: () => ({ n: 1 }),
    step: ({ n }) => ({ state: { n: n + 1 }, reward: 1, terminated: n === 9 }),
    observe: ({ n }) => [n, n + 0.25, n + 0.5, n + 0.75],
  });

  it("stacks pictures on their channels, the oldest first, as a cnn takes them", () => {
    const environment = frameStack(makeScreen(), 2);
    expect(environment.observationSpace).toEqual(
      box({ shape: [2, 1, 4], low: 0, high: [255, 9, 255, 9, 255, 9, 255, 9] }),
    );
    environment.reset();
    expect([...(environment.step(0).observation as Float32Array)]).toEqual([
      ...[1, 1.25, 2, 2.25],
      ...[1.5, 1.75, 2.5, 2.75],
    ]);
    const policy = { encoder: { kind: "cnn", channels: [4], kernel: 1, hidden: [8] } } as const;
    expect(() => buildPolicy(policy, environment)).not.toThrow();
  });

  it("stacks on the axis that is asked for", () => {
    const first = frameStack(makeScreen(), 2, { axis: "first" });
    expect(first.observationSpace).toMatchObject({ shape: [2, 2, 1, 2] });
    expect([...(first.reset().observation as Float32Array)].slice(0, 4)).toEqual([1, 1.25, 1.5, 1.75]);
    expect(frameStack(makeEcho(), 3, { axis: "last" }).observationSpace).toMatchObject({ shape: [3] });
    expect(() => frameStack(makeEcho(), 2, { axis: "frst" as never })).toThrow(/did you mean "first"/);
  });

  it("refuses no frames and other paddings", () => {
    expect(() => frameStack(makeEcho(), 0)).toThrow(/frames is 0/);
    expect(() => frameStack(makeEcho(), 2, { padding: "zeros" as never })).toThrow(/did you mean "zero"/);
  });
});

describe("wrap", () => {
  it("refuses what it does not know", () => {
    expect(() => wrap(cartPole(), { stepp: (seen: unknown) => seen } as never)).toThrow(
      /wrap: there is no option "stepp"; did you mean "step"\?/,
    );
  });

  it("says where the environment within has no state", () => {
    const { getState: _, ...lacking } = wrap(cartPole(), {});
    const outer = timeLimit(lacking as Environment, 10);
    outer.reset({ seed: 1 });
    expect(() => outer.getState()).toThrow(
      /CartPole-v1 has no getState\(\), .*ENVIRONMENT_INVALID\]\n.*getState\(\) and setState\(state\), or .*defineEnvironment/,
    );
  });
});

describe("maskActions", () => {
  it("takes lists and booleans", () => {
    for (const allowed of [[1, 0], [true, false], Uint8Array.of(1, 0)])
      expect(maskActions(cartPole(), () => allowed).reset({ seed: 1 }).actionMask).toEqual(
        Uint8Array.of(1, 0),
      );
    expect(() => maskActions(cartPole(), () => undefined as never).reset()).toThrow(/has no entries/);
  });

  it("says what is allowed after every reset and step", () => {
    let allowed = Uint8Array.of(1, 0);
    const inner = cartPole();
    const environment = maskActions(inner, (given) => {
      expect(given).toBe(inner);
      return allowed;
    });
    const { actionMask } = environment.reset({ seed: 1 });
    expect(actionMask).toEqual(Uint8Array.of(1, 0));
    allowed.fill(1);
    expect(actionMask).toEqual(Uint8Array.of(1, 0));
    expect(environment.step(0).actionMask).toEqual(Uint8Array.of(1, 1));
    allowed = Uint8Array.of(1);
    expect(() => environment.step(0)).toThrow(/the action mask has 1 entries, where 2 are expected/);
  });

  it("is not for boxes", () => {
    expect(() => maskActions(pendulum(), () => new Uint8Array(1))).toThrow(
      expect.objectContaining({ code: "SPACE_UNSUPPORTED" }),
    );
  });
});

describe("wrappers", () => {
  const all = (inner: Environment): Environment =>
    clipObservations(
      frameStack(
        clipRewards(normalizeRewards(normalizeObservations(clipActions(timeLimit(inner, 50)))), { low: -1 }),
        2,
      ),
      { low: -5, high: 5 },
    );

  it("do it for each of several agents", () => {
    const environment = all(makeEcho({ agents: 2 }));
    const { observation } = environment.reset() as { readonly observation: readonly Float32Array[] };
    expect(observation.map(({ length }) => length)).toEqual([2, 2]);
    const { reward } = environment.step([[1], [-2]]) as { readonly reward: readonly number[] };
    expect(reward[0]).toBeGreaterThan(0);
    expect(reward[1]).toBeLessThan(0);
  });

  it("leave name, lessons, drawing and closing as they are", () => {
    let closed = 0;
    const inner: Environment = Object.assign(cartPole(), {
      lessons: ["one"],
      close: () => void closed++,
    });
    const environment = timeLimit(inner, 5);
    environment.reset({ seed: 1 });
    environment.close?.();
    expect(environment).toMatchObject({ name: "CartPole-v1", lessons: ["one"] });
    expect(environment.render?.()).toEqual(inner.render?.());
    expect(closed).toBe(1);
    expect(timeLimit(makeEcho(), 3).render).toBeUndefined();
  });

  it("refuse a state that is not theirs and spaces that are no box", () => {
    expect(() => timeLimit(makeEcho(), 3).setState(makeEcho().getState())).toThrow(
      expect.objectContaining({ code: "STATE_INVALID" }),
    );
    for (const wrap of [normalizeObservations, (e: Environment) => clipObservations(e, { low: 0 })])
      expect(() => wrap(makeEcho({ space: discrete(2) }))).toThrow(
        expect.objectContaining({ code: "SPACE_UNSUPPORTED" }),
      );
    expect(() => clipActions(cartPole())).toThrow(expect.objectContaining({ code: "SPACE_UNSUPPORTED" }));
    expect(() => normalizeRewards(makeEcho(), { gamma: 2 })).toThrow(/gamma is 2/);
    const misspelt = { updates: false };
    for (const wrap of [normalizeObservations, normalizeRewards])
      expect(() => wrap(makeEcho(), misspelt)).toThrow(expect.objectContaining({ code: "OPTION_UNKNOWN" }));
  });

  it("that are not to update keep their moments", () => {
    const frozen = normalizeObservations(makeEcho(), { update: false });
    frozen.reset();
    frozen.step([2]);
    expect(frozen.step([2]).observation).toEqual(Float32Array.of(2));
    const paid = normalizeRewards(makeEcho(), { update: false });
    paid.reset();
    expect(paid.step([2]).reward).toBeCloseTo(2, 6);
  });
});
