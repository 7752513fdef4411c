import { box, discrete } from "../../spaces/make.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + 1;
/** Half the pole's. */
const LENGTH = 0.5;
const POLE_MASS_LENGTH = POLE_MASS * LENGTH;
const FORCE = 10;
const SECONDS = 0.02;
const FARTHEST = 2.4;
const STEEPEST = (12 * 2 * Math.PI) / 360;

interface State {
  readonly x: number;
  readonly speed: number;
  readonly angle: number;
  readonly turn: number;
}

/**
 * Gymnasium's CartPole-v1: a cart is pushed left (0) or right (1) to keep the pole on it upright. 1 for every step,
 * until the pole leans more than 12 degrees, the cart is 2.4 from the middle, or 500 steps are over. Observations are
 * the cart's place and speed, the pole's angle and how fast it turns.
 *
 * @example
 * ```ts
 * const environment = makeCartPole();
 * environment.reset({ seed: 1 });
 * const { observation, reward } = environment.step(1);
 * ```
 */
export const makeCartPole = defineEnvironment({
  name: "CartPole-v1",
  observation: box({
    shape: [4],
    low: [-2 * FARTHEST, -Infinity, -2 * STEEPEST, -Infinity],
    high: [2 * FARTHEST, Infinity, 2 * STEEPEST, Infinity],
  }),
  action: discrete(2),
  timeLimit: 500,
  initial: (random): State => ({
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
    const state: State = {
      x: x + SECONDS * speed,
      speed: speed + SECONDS * speeding,
      angle: angle + SECONDS * turn,
      turn: turn + SECONDS * turning,
    };
    const fell =
      state.x < -FARTHEST || state.x > FARTHEST || state.angle < -STEEPEST || state.angle > STEEPEST;
    return { state, reward: 1, terminated: fell };
  },
  observe: ({ x, speed, angle, turn }) => [x, speed, angle, turn],
  draw,
});

function draw({ x, angle }: State): Drawing {
  const [middle, ground, pole] = [2.4 + x, 1.4, 2 * LENGTH];
  return {
    width: 2 * FARTHEST,
    height: 1.6,
    shapes: [
      { kind: "line", from: [0, ground], to: [2 * FARTHEST, ground], color: "#888888", width: 0.02 },
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
