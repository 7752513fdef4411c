import { np, random, type Value } from "../../../engine/index.ts";
import { box } from "../../spaces/index.ts";
import type { CompiledEnvironment } from "../compiled.ts";
import { wrapAngle } from "./angles.ts";

/** `motion` is f32 [2]: the angle from upright, which counts turns, and the angular velocity. */
export type PendulumState = { readonly motion: Value; readonly steps: Value };

const gravity = 10;
const fastest = 8;
const strongest = 2;
const seconds = 0.05;
const stepLimit = 200;

/**
 * Gymnasium's Pendulum-v1 as functions of values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(pendulum, 64);
 * ```
 */
export const pendulum: CompiledEnvironment<PendulumState> = {
  name: "Pendulum-v1",
  observationSpace: box({ shape: [3], low: [-1, -1, -fastest], high: [1, 1, fastest] }),
  actionSpace: box({ shape: [1], low: -strongest, high: strongest }),
  reset: (key) => {
    const drawn = random.uniform(key, [2], { min: -1, max: 1 });
    return { motion: drawn.mul(np.array([Math.PI, 1])), steps: np.zeros([], { dtype: "i32" }) };
  },
  step: ({ motion, steps: before }, action) => {
    const angle = np.slice(motion, 0);
    const turning = np.slice(motion, 1);
    const torque = np.clip(np.slice(action, 0), -strongest, strongest);
    const wrapped = wrapAngle(angle);
    const cost = wrapped.mul(wrapped).add(turning.mul(turning).mul(0.1)).add(torque.mul(torque).mul(0.001));
    const rate = np
      .sin(angle)
      .mul(1.5 * gravity)
      .add(torque.mul(3));
    const next = np.clip(turning.add(rate.mul(seconds)), -fastest, fastest);
    const steps = before.add(1);
    return {
      state: { motion: np.stack([angle.add(next.mul(seconds)), next]), steps },
      reward: cost.neg(),
      terminated: np.zeros([], { dtype: "bool" }),
      truncated: np.greaterEqual(steps, stepLimit),
    };
  },
  observe: ({ motion }) => {
    const angle = np.slice(motion, 0);
    return np.stack([np.cos(angle), np.sin(angle), np.slice(motion, 1)]);
  },
};
