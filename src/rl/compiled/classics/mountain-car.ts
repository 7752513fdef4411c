import { np, random, type Value } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/index.ts";
import type { CompiledEnvironment } from "../compiled.ts";

/** `motion` is f32 [2]: the car's place and velocity. */
export type MountainCarState = { readonly motion: Value; readonly steps: Value };

const leftmost = -1.2;
const rightmost = 0.6;
const fastest = 0.07;
const gravity = 0.0025;
const stepLimit = 200;
const continuousStepLimit = 999;

const observationSpace = box({ shape: [2], low: [leftmost, -fastest], high: [rightmost, fastest] });

const reset = (key: Value): MountainCarState => ({
  motion: np.stack([random.uniform(key, [], { min: -0.6, max: -0.4 }), np.zeros([])]),
  steps: np.zeros([], { dtype: "i32" }),
});

/** The car after being pushed so hard, and whether it has reached the goal at a place. */
function push(state: MountainCarState, force: Value, goal: number): [state: MountainCarState, there: Value] {
  const place = np.slice(state.motion, 0);
  const pulled = np
    .slice(state.motion, 1)
    .add(force)
    .sub(np.cos(place.mul(3)).mul(gravity));
  const velocity = np.clip(pulled, -fastest, fastest);
  const next = np.clip(place.add(velocity), leftmost, rightmost);
  // The wall on the left stops it.
  const stopped = np.logicalAnd(np.equal(next, leftmost), np.less(velocity, 0));
  const kept = np.where(stopped, 0, velocity);
  const there = np.logicalAnd(np.greaterEqual(next, goal), np.greaterEqual(kept, 0));
  return [{ motion: np.stack([next, kept]), steps: state.steps.add(1) }, there];
}

/**
 * Gymnasium's MountainCar-v0 as functions of values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(mountainCar, 64);
 * ```
 */
export const mountainCar: CompiledEnvironment<MountainCarState> = {
  name: "MountainCar-v0",
  observationSpace,
  actionSpace: discrete(3),
  reset,
  step: (before, action) => {
    const [state, terminated] = push(before, np.slice(action, 0).sub(1).mul(0.001), 0.5);
    return {
      state,
      reward: np.full([], -1),
      terminated,
      truncated: np.greaterEqual(state.steps, stepLimit),
    };
  },
  observe: (state) => state.motion,
};

/**
 * Gymnasium's MountainCarContinuous-v0 as functions of values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(mountainCarContinuous, 64);
 * ```
 */
export const mountainCarContinuous: CompiledEnvironment<MountainCarState> = {
  name: "MountainCarContinuous-v0",
  observationSpace,
  actionSpace: box({ shape: [1], low: -1, high: 1 }),
  reset,
  step: (before, action) => {
    const asked = np.slice(action, 0);
    const [state, terminated] = push(before, np.clip(asked, -1, 1).mul(0.0015), 0.45);
    return {
      state,
      reward: np.where(terminated, 100, 0).astype("f32").sub(asked.mul(asked).mul(0.1)),
      terminated,
      truncated: np.greaterEqual(state.steps, continuousStepLimit),
    };
  },
  observe: (state) => state.motion,
};
