import { np, random, type Value } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/index.ts";
import type { CompiledEnvironment } from "../compiled.ts";
import { wrapAngle } from "./angles.ts";

/** `motion` is f32 [4]: the angles of both links and their velocities. */
export type AcrobotState = { readonly motion: Value; readonly steps: Value };

type Motion = readonly [angle1: Value, angle2: Value, turning1: Value, turning2: Value];

const gravity = 9.8;
const seconds = 0.2;
const fastest1 = 4 * Math.PI;
const fastest2 = 9 * Math.PI;
const stepLimit = 500;

/**
 * Gymnasium's Acrobot-v1 ("book" dynamics, all masses and lengths 1) as functions of values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(acrobot, 64);
 * ```
 */
export const acrobot: CompiledEnvironment<AcrobotState> = {
  name: "Acrobot-v1",
  observationSpace: box({
    shape: [6],
    low: [-1, -1, -1, -1, -fastest1, -fastest2],
    high: [1, 1, 1, 1, fastest1, fastest2],
  }),
  actionSpace: discrete(3),
  reset: (key) => ({
    motion: random.uniform(key, [4], { min: -0.1, max: 0.1 }),
    steps: np.zeros([], { dtype: "i32" }),
  }),
  step: (state, action) => {
    const torque = np.slice(action, 0).sub(1);
    const [angle1, angle2, turning1, turning2] = rungeKutta(parts(state.motion), torque);
    const first = wrapAngle(angle1);
    const second = wrapAngle(angle2);
    const steps = state.steps.add(1);
    // The lower end is more than one link above the pivot.
    const terminated = np.less(np.cos(first).add(np.cos(first.add(second))), -1);
    return {
      state: {
        motion: np.stack([
          first,
          second,
          np.clip(turning1, -fastest1, fastest1),
          np.clip(turning2, -fastest2, fastest2),
        ]),
        steps,
      },
      reward: np.where(terminated, 0, -1).astype("f32"),
      terminated,
      truncated: np.greaterEqual(steps, stepLimit),
    };
  },
  observe: ({ motion }) => {
    const [angle1, angle2, turning1, turning2] = parts(motion);
    return np.stack([np.cos(angle1), np.sin(angle1), np.cos(angle2), np.sin(angle2), turning1, turning2]);
  },
};

const parts = (motion: Value): Motion => [
  np.slice(motion, 0),
  np.slice(motion, 1),
  np.slice(motion, 2),
  np.slice(motion, 3),
];

const moved = (from: Motion, by: Motion, time: number): Motion =>
  from.map((x, i) => x.add((by[i] as Value).mul(time))) as unknown as Motion;

/** One step of the classical fourth-order method over the whole interval. */
function rungeKutta(start: Motion, torque: Value): Motion {
  const k1 = rates(start, torque);
  const k2 = rates(moved(start, k1, seconds / 2), torque);
  const k3 = rates(moved(start, k2, seconds / 2), torque);
  const k4 = rates(moved(start, k3, seconds), torque);
  return start.map((x, i) => {
    const [a, b, c, d] = [k1[i], k2[i], k3[i], k4[i]] as [Value, Value, Value, Value];
    return x.add(
      a
        .add(d)
        .add(b.add(c).mul(2))
        .mul(seconds / 6),
    );
  }) as unknown as Motion;
}

/** How fast everything changes. Links of mass 1 and length 1, centred at 0.5, with moments of inertia 1. */
function rates([angle1, angle2, turning1, turning2]: Motion, torque: Value): Motion {
  const cosine2 = np.cos(angle2);
  const sine2 = np.sin(angle2);
  const d1 = cosine2.add(3.5);
  const d2 = cosine2.mul(0.5).add(1.25);
  const phi2 = np.sin(angle1.add(angle2)).mul(0.5 * gravity);
  const phi1 = turning2
    .mul(turning2)
    .mul(-0.5)
    .sub(turning2.mul(turning1))
    .mul(sine2)
    .add(np.sin(angle1).mul(1.5 * gravity))
    .add(phi2);
  const ratio = d2.div(d1);
  const rate2 = torque
    .add(ratio.mul(phi1))
    .sub(turning1.mul(turning1).mul(sine2).mul(0.5))
    .sub(phi2)
    .div(np.subtract(1.25, d2.mul(ratio)));
  const rate1 = d2.mul(rate2).add(phi1).div(d1).neg();
  return [turning1, turning2, rate1, rate2];
}
