import { np, random, type Value } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/index.ts";
import type { CompiledEnvironment } from "../compiled.ts";

/** `motion` is f32 [4]: the cart's place and velocity, the pole's angle and angular velocity. */
export type CartPoleState = { readonly motion: Value; readonly steps: Value };

const gravity = 9.8;
const poleMass = 0.1;
const totalMass = 1.1;
const halfLength = 0.5;
const force = 10;
const seconds = 0.02;
const farthest = 2.4;
const steepest = (12 * 2 * Math.PI) / 360;
const stepLimit = 500;
const lever = (poleMass * halfLength) / totalMass;

/**
 * Gymnasium's CartPole-v1 as functions of values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(cartPole, 64);
 * ```
 */
export const cartPole: CompiledEnvironment<CartPoleState> = {
  name: "CartPole-v1",
  observationSpace: box({
    shape: [4],
    low: [-2 * farthest, -Infinity, -2 * steepest, -Infinity],
    high: [2 * farthest, Infinity, 2 * steepest, Infinity],
  }),
  actionSpace: discrete(2),
  reset: (key) => ({
    motion: random.uniform(key, [4], { min: -0.05, max: 0.05 }),
    steps: np.zeros([], { dtype: "i32" }),
  }),
  step: (state, action) => {
    const [place, velocity, angle, turning] = columns(state.motion);
    // Divisions by the masses are done beforehand, in the constants.
    const push = np
      .slice(action, 0)
      .mul((2 * force) / totalMass)
      .sub(force / totalMass);
    const cosine = np.cos(angle);
    const sine = np.sin(angle);
    const pushed = push.add(turning.mul(turning).mul(sine).mul(lever));
    const turningRate = sine
      .mul(gravity)
      .sub(cosine.mul(pushed))
      .div(np.subtract((halfLength * 4) / 3, cosine.mul(cosine).mul(lever)));
    const rate = pushed.sub(turningRate.mul(cosine).mul(lever));
    const nextPlace = place.add(velocity.mul(seconds));
    const nextAngle = angle.add(turning.mul(seconds));
    const steps = state.steps.add(1);
    return {
      state: {
        motion: np.stack([
          nextPlace,
          velocity.add(rate.mul(seconds)),
          nextAngle,
          turning.add(turningRate.mul(seconds)),
        ]),
        steps,
      },
      reward: np.ones([]),
      terminated: np.logicalOr(
        np.greater(np.abs(nextPlace), farthest),
        np.greater(np.abs(nextAngle), steepest),
      ),
      truncated: np.greaterEqual(steps, stepLimit),
    };
  },
  observe: (state) => state.motion,
};

const columns = (motion: Value): readonly [Value, Value, Value, Value] => [
  np.slice(motion, 0),
  np.slice(motion, 1),
  np.slice(motion, 2),
  np.slice(motion, 3),
];
