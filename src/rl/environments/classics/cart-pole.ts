import { np, random } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/space.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";
import { compiledClassic } from "./classic.ts";

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + 1;
/** Half the pole's length. */
const LENGTH = 0.5;
const POLE_MASS_LENGTH = POLE_MASS * LENGTH;
const FORCE = 10;
const SECONDS = 0.02;
const MAX_POSITION = 2.4;
const MAX_ANGLE = (12 * 2 * Math.PI) / 360;

const rules = {
  name: "CartPole-v1",
  observation: box({
    shape: [4],
    low: [-2 * MAX_POSITION, -Infinity, -2 * MAX_ANGLE, -Infinity],
    high: [2 * MAX_POSITION, Infinity, 2 * MAX_ANGLE, Infinity],
  }),
  action: discrete(2),
  timeLimit: 500,
};

interface CartPoleVariables {
  readonly x: number;
  readonly speed: number;
  readonly angle: number;
  readonly turn: number;
}

/**
 * Gymnasium's CartPole-v1: push a cart left (0) or right (1) to keep the pole on it upright. The reward is 1 per step,
 * until the pole leans more than 12 degrees, the cart is 2.4 from the middle, or after 500 steps. Observations are the
 * cart's position and velocity, the pole's angle and angular velocity.
 *
 * @example
 * ```ts
 * const environment = cartPole();
 * environment.reset({ seed: 1 });
 * const { observation, reward } = environment.step(1);
 * ```
 */
export const cartPole = defineEnvironment({
  ...rules,
  initial: (random): CartPoleVariables => ({
    x: random.uniform(-0.05, 0.05),
    speed: random.uniform(-0.05, 0.05),
    angle: random.uniform(-0.05, 0.05),
    turn: random.uniform(-0.05, 0.05),
  }),
  step({ x, speed, angle, turn }, action) {
    const force = action === 1 ? FORCE : -FORCE;
    const cos = Math.cos(angle);
    const sin = Math.sin(angle);
    const push = (force + POLE_MASS_LENGTH * (turn * turn) * sin) / TOTAL_MASS;
    const turning =
      (GRAVITY * sin - cos * push) / (LENGTH * (4 / 3 - (POLE_MASS * (cos * cos)) / TOTAL_MASS));
    const speeding = push - (POLE_MASS_LENGTH * turning * cos) / TOTAL_MASS;
    const state: CartPoleVariables = {
      x: x + SECONDS * speed,
      speed: speed + SECONDS * speeding,
      angle: angle + SECONDS * turn,
      turn: turn + SECONDS * turning,
    };
    const terminated =
      state.x < -MAX_POSITION ||
      state.x > MAX_POSITION ||
      state.angle < -MAX_ANGLE ||
      state.angle > MAX_ANGLE;
    return { state, reward: 1, terminated };
  },
  observe: ({ x, speed, angle, turn }) => [x, speed, angle, turn],
  draw,
});

function draw({ x, angle }: CartPoleVariables): Drawing {
  const [middle, ground, pole] = [2.4 + x, 1.4, 2 * LENGTH];
  return {
    width: 2 * MAX_POSITION,
    height: 1.6,
    shapes: [
      { kind: "line", from: [0, ground], to: [2 * MAX_POSITION, ground], color: "#888888", width: 0.02 },
      { kind: "rectangle", at: [middle - 0.25, ground - 0.2], size: [0.5, 0.2], color: "#3b6ea5" },
      {
        kind: "line",
        from: [middle, ground - 0.2],
        to: [middle + pole * Math.sin(angle), ground - 0.2 - pole * Math.cos(angle)],
        color: "#c98b4b",
        width: 0.08,
      },
      { kind: "circle", at: [middle, ground - 0.2], radius: 0.05, color: "#7a5c99" },
    ],
  };
}

const LEVER = POLE_MASS_LENGTH / TOTAL_MASS;

/**
 * Gymnasium's CartPole-v1 as functions of traced values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(compiledCartPole(), 64);
 * ```
 */
export const compiledCartPole = compiledClassic(rules, {
  start: (key) => random.uniform(key, [4], { min: -0.05, max: 0.05 }),
  move: (motion, action) => {
    const position = np.slice(motion, 0);
    const velocity = np.slice(motion, 1);
    const angle = np.slice(motion, 2);
    const turning = np.slice(motion, 3);
    // The constants are divided by the masses beforehand.
    const push = np
      .slice(action, 0)
      .mul((2 * FORCE) / TOTAL_MASS)
      .sub(FORCE / TOTAL_MASS);
    const cos = np.cos(angle);
    const sin = np.sin(angle);
    const pushed = push.add(turning.mul(turning).mul(sin).mul(LEVER));
    const turningRate = sin
      .mul(GRAVITY)
      .sub(cos.mul(pushed))
      .div(np.subtract((LENGTH * 4) / 3, cos.mul(cos).mul(LEVER)));
    const rate = pushed.sub(turningRate.mul(cos).mul(LEVER));
    const nextPosition = position.add(velocity.mul(SECONDS));
    const nextAngle = angle.add(turning.mul(SECONDS));
    return {
      motion: np.stack([
        nextPosition,
        velocity.add(rate.mul(SECONDS)),
        nextAngle,
        turning.add(turningRate.mul(SECONDS)),
      ]),
      reward: np.ones([]),
      terminated: np.logicalOr(
        np.greater(np.abs(nextPosition), MAX_POSITION),
        np.greater(np.abs(nextAngle), MAX_ANGLE),
      ),
    };
  },
});
