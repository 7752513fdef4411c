import { np, random, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { defineEnvironment } from "../environments/define.ts";
import type { Environment } from "../environments/environment.ts";
import { box, dict, discrete, multiDiscrete } from "../spaces/index.ts";
import { vectorEnvironment } from "../vector/vector-environment.ts";
import type { Where } from "./on-policy.test-support.ts";
import type { OnPolicyOptions } from "./options.ts";

/** A small world in both forms. */
export interface World {
  readonly make: () => Environment;
  readonly compiled: CompiledEnvironment;
}

/** So many of a world, inside the program or beside it. */
export const worlds = (where: Where, { make, compiled }: World, count = 2): OnPolicyOptions["env"] =>
  where === "compiled" ? { compiled, count } : vectorEnvironment({ make, count });

const number = (x: number): Value => np.full([], x, { dtype: "i32" });
const no = (): Value => np.full([], false, { dtype: "bool" });
const as = <S extends Named>(environment: CompiledEnvironment<S>): CompiledEnvironment => environment;

type Clock = { readonly t: Value };

/** Episodes of three steps with the rewards 1, 2, 3, whatever one does. */
export const counting: World = {
  make: defineEnvironment({
    ...{ name: "Counting", observation: box({ shape: 1 }), action: discrete(2) },
    initial: () => ({ t: 0 }),
    step: ({ t }) => ({ state: { t: t + 1 }, reward: t + 1, terminated: t === 2 }),
    observe: ({ t }) => [t],
  }),
  compiled: as<Clock>({
    ...{ name: "Counting", observationSpace: box({ shape: 1 }), actionSpace: discrete(2) },
    reset: () => ({ t: number(0) }),
    step: ({ t }) => {
      const next = t.add(1);
      return { state: { t: next }, reward: next.astype("f32"), terminated: next.equal(3), truncated: no() };
    },
    observe: ({ t }) => np.reshape(t.astype("f32"), [1]),
  }),
};

/** Two states in turn, with the rewards 1 and 0. Each episode is over after both, ended as told. */
export const turning = (ended: "terminated" | "truncated"): World => ({
  make: defineEnvironment({
    ...{ name: "Turning", observation: discrete(2), action: discrete(2) },
    initial: () => ({ t: 0 }),
    step: ({ t }) => ({
      state: { t: t + 1 },
      reward: t === 0 ? 1 : 0,
      terminated: ended === "terminated" && t === 1,
      truncated: ended === "truncated" && t === 1,
    }),
    observe: ({ t }) => t % 2,
  }),
  compiled: as<Clock>({
    ...{ name: "Turning", observationSpace: discrete(2), actionSpace: discrete(2) },
    reset: () => ({ t: number(0) }),
    step: ({ t }) => ({
      state: { t: t.add(1) },
      reward: t.equal(0).astype("f32"),
      terminated: ended === "terminated" ? t.equal(1) : no(),
      truncated: ended === "truncated" ? t.equal(1) : no(),
    }),
    observe: ({ t }) => np.oneHot(np.remainder(t, 2), 2),
  }),
});

/** Sees one of three numbers and earns 1 for naming it, four times an episode. */
export const matching: World = {
  make: defineEnvironment({
    ...{ name: "Matching", observation: discrete(3), action: discrete(3) },
    initial: (draw) => ({ t: 0, seen: draw.integer(3) }),
    step: ({ t, seen }, action, draw) => ({
      state: { t: t + 1, seen: draw.integer(3) },
      reward: action === seen ? 1 : 0,
      terminated: t === 3,
    }),
    observe: ({ seen }) => seen,
  }),
  compiled: as<Clock & { readonly seen: Value }>({
    ...{ name: "Matching", observationSpace: discrete(3), actionSpace: discrete(3) },
    reset: (key) => ({ t: number(0), seen: random.randint(key, [], 0, 3) }),
    step: ({ t, seen }, action, key) => ({
      state: { t: t.add(1), seen: random.randint(key, [], 0, 3) },
      reward: np.equal(np.slice(action, 0).astype("i32"), seen).astype("f32"),
      terminated: t.equal(3),
      truncated: no(),
    }),
    observe: ({ seen }) => np.oneHot(seen, 3),
  }),
};

/** Forbids another of three choices in each step: whoever takes it fails here, or loses 100 in the compiled form. */
export const forbidding: World = {
  make: defineEnvironment({
    ...{ name: "Forbidding", observation: box({ shape: 1 }), action: discrete(3) },
    initial: () => ({ t: 0 }),
    step: ({ t }, action) => {
      if (action === t % 3) throw new Error(`${action} is forbidden at ${t}`);
      return { state: { t: t + 1 }, reward: 1, terminated: t === 5 };
    },
    observe: ({ t }) => [t],
    actionMask: ({ t }) => [0, 1, 2].map((choice) => choice !== t % 3),
  }),
  compiled: as<Clock>({
    ...{ name: "Forbidding", observationSpace: box({ shape: 1 }), actionSpace: discrete(3) },
    reset: () => ({ t: number(0) }),
    step: ({ t }, action) => ({
      state: { t: t.add(1) },
      reward: np.where(np.equal(np.slice(action, 0).astype("i32"), np.remainder(t, 3)), -100, 1),
      terminated: t.equal(5),
      truncated: no(),
    }),
    observe: ({ t }) => np.reshape(t.astype("f32"), [1]),
    actionMask: ({ t }) => np.notEqual(np.arange(3).astype("i32"), np.remainder(t, 3)),
  }),
};

const parts = dict({ mode: discrete(3), place: box({ shape: 2 }) });

/** Sees a dict and chooses twice: the mode earns 1 by the second choice, whether it is 0 by the first. */
export const choosing: World = {
  make: defineEnvironment({
    ...{ name: "Choosing", observation: parts, action: multiDiscrete([2, 3]) },
    initial: (draw) => ({ t: 0, mode: draw.integer(3) }),
    step: ({ t, mode }, action, draw) => ({
      state: { t: t + 1, mode: draw.integer(3) },
      reward: (action[0] === (mode === 0 ? 1 : 0) ? 1 : 0) + (action[1] === mode ? 1 : 0),
      terminated: t === 3,
    }),
    observe: ({ t, mode }) => ({ mode, place: [t, -t] }),
  }),
  compiled: as<Clock & { readonly mode: Value }>({
    ...{ name: "Choosing", observationSpace: parts, actionSpace: multiDiscrete([2, 3]) },
    reset: (key) => ({ t: number(0), mode: random.randint(key, [], 0, 3) }),
    step: ({ t, mode }, action, key) => {
      const chosen = (i: number): Value => np.slice(action, i).astype("i32");
      const right = np.equal(chosen(0), mode.equal(0).astype("i32")).astype("f32");
      return {
        state: { t: t.add(1), mode: random.randint(key, [], 0, 3) },
        reward: right.add(np.equal(chosen(1), mode).astype("f32")),
        terminated: t.equal(3),
        truncated: no(),
      };
    },
    observe: ({ t, mode }) => np.concatenate([np.oneHot(mode, 3), np.stack([t, t.mul(-1)]).astype("f32")]),
  }),
};

const picture = box({ shape: [5, 5, 1], low: 0, high: 255 });

/** Sees a picture whose left or right side is bright, and earns 1 for saying which. */
export const looking: World = {
  make: defineEnvironment({
    ...{ name: "Looking", observation: picture, action: discrete(2) },
    initial: (draw) => ({ t: 0, side: draw.integer(2) }),
    step: ({ t, side }, action, draw) => ({
      state: { t: t + 1, side: draw.integer(2) },
      reward: action === side ? 1 : 0,
      terminated: t === 3,
    }),
    observe: ({ side }) =>
      Float32Array.from({ length: 25 }, (_, i) => ((i % 5 > 2 ? 1 : 0) === side ? 255 : 0)),
  }),
  compiled: as<Clock & { readonly side: Value }>({
    ...{ name: "Looking", observationSpace: picture, actionSpace: discrete(2) },
    reset: (key) => ({ t: number(0), side: random.randint(key, [], 0, 2) }),
    step: ({ t, side }, action, key) => ({
      state: { t: t.add(1), side: random.randint(key, [], 0, 2) },
      reward: np.equal(np.slice(action, 0).astype("i32"), side).astype("f32"),
      terminated: t.equal(3),
      truncated: no(),
    }),
    observe: ({ side }) => {
      const right = np.greater(np.remainder(np.arange(25), 5), 2).astype("i32");
      return np.equal(right, side).astype("f32").mul(255);
    },
  }),
};
