import { np, random, type Value } from "../../../engine/index.ts";
import { box } from "../../spaces/space.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";
import { compiledClassic } from "./classic.ts";

const MAX_SPEED = 8;
const MAX_TORQUE = 2;
const SECONDS = 0.05;
const TURN = 2 * Math.PI;
const single = Math.fround;

const rules = {
  name: "Pendulum-v1",
  observation: box({ shape: [3], low: [-1, -1, -MAX_SPEED], high: [1, 1, MAX_SPEED] }),
  action: box({ shape: [1], low: -MAX_TORQUE, high: MAX_TORQUE }),
  timeLimit: 200,
};

interface PendulumVariables {
  /** From upright. */
  readonly angle: number;
  readonly turn: number;
}

/**
 * Gymnasium's Pendulum-v1: a torque from -2 to 2 swings a pendulum up and holds it there. Each step costs the square of
 * its angle from upright, and a little of its velocity and the torque, for 200 steps. Observations are the cosine and
 * sine of the angle, and the angular velocity.
 *
 * @example
 * ```ts
 * const environment = pendulum();
 * environment.reset({ seed: 1 });
 * const { observation, reward } = environment.step([-1.5]);
 * ```
 */
export const pendulum = defineEnvironment({
  ...rules,
  initial: (random): PendulumVariables => ({
    angle: random.uniform(-Math.PI, Math.PI),
    turn: random.uniform(-1, 1),
  }),
  step({ angle, turn }, action) {
    const torque = Math.min(Math.max(action[0] as number, -MAX_TORQUE), MAX_TORQUE);
    const off = fromUpright(angle);
    // Gymnasium computes what depends on the torque alone in single precision.
    const effort = single(single(0.001) * single(torque * torque));
    const cost = off * off + 0.1 * (turn * turn) + effort;
    const faster = turn + (15 * Math.sin(angle) + single(3 * torque)) * SECONDS;
    const next = Math.min(Math.max(faster, -MAX_SPEED), MAX_SPEED);
    return { state: { angle: angle + next * SECONDS, turn: next }, reward: -cost, terminated: false };
  },
  observe: ({ angle, turn }) => [Math.cos(angle), Math.sin(angle), turn],
  draw,
});

/** The angle between -pi and pi. */
function fromUpright(angle: number): number {
  const rest = (angle + Math.PI) % TURN;
  return (rest < 0 ? rest + TURN : rest) - Math.PI;
}

function draw({ angle }: PendulumVariables): Drawing {
  const axle = [1.2, 1.2] as const;
  const end = [1.2 - Math.sin(angle), 1.2 - Math.cos(angle)] as const;
  return {
    width: 2.4,
    height: 2.4,
    shapes: [
      { kind: "line", from: axle, to: end, color: "#b5484b", width: 0.2 },
      { kind: "circle", at: end, radius: 0.1, color: "#b5484b" },
      { kind: "circle", at: axle, radius: 0.05, color: "#222222" },
    ],
  };
}

/** 2 pi in two numbers: whole multiples of the first lose no digits in f32. */
const COARSE_TURN = 6.28125;
const FINE_TURN = TURN - COARSE_TURN;

/** The same angle between -pi and pi, traced. */
export function wrapAngle(angle: Value): Value {
  const turns = np.round(angle.mul(1 / TURN));
  return angle.sub(turns.mul(COARSE_TURN)).sub(turns.mul(FINE_TURN));
}

/**
 * Gymnasium's Pendulum-v1 as functions of traced values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(compiledPendulum(), 64);
 * ```
 */
export const compiledPendulum = compiledClassic(rules, {
  start: (key) => random.uniform(key, [2], { min: -1, max: 1 }).mul(np.array([Math.PI, 1])),
  move: (motion, action) => {
    // From upright; it counts turns.
    const angle = np.slice(motion, 0);
    const turning = np.slice(motion, 1);
    const torque = np.clip(np.slice(action, 0), -MAX_TORQUE, MAX_TORQUE);
    const wrapped = wrapAngle(angle);
    const cost = wrapped.mul(wrapped).add(turning.mul(turning).mul(0.1)).add(torque.mul(torque).mul(0.001));
    const rate = np.sin(angle).mul(15).add(torque.mul(3));
    const next = np.clip(turning.add(rate.mul(SECONDS)), -MAX_SPEED, MAX_SPEED);
    return {
      motion: np.stack([angle.add(next.mul(SECONDS)), next]),
      reward: cost.neg(),
      terminated: np.zeros([], { dtype: "bool" }),
    };
  },
  observe: (motion) => {
    const angle = np.slice(motion, 0);
    return np.stack([np.cos(angle), np.sin(angle), np.slice(motion, 1)]);
  },
});
