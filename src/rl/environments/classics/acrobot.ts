import { box, discrete } from "../../spaces/make.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";

const SECONDS = 0.2;
const FASTEST_UPPER = 4 * Math.PI;
const FASTEST_LOWER = 9 * Math.PI;
const GRAVITY = 9.8;
const HALF_PI = Math.PI / 2;

interface State {
  /** Of the upper link from hanging straight down, and of the lower one from the upper. */
  readonly upper: number;
  readonly lower: number;
  readonly upperTurn: number;
  readonly lowerTurn: number;
}

/**
 * Gymnasium's Acrobot-v1: two links hang from a joint, and torque -1, 0 or 1 (actions 0 to 2) between them swings the
 * free end above a line one link's length over the joint. -1 for every step until then, for at most 500 steps.
 * Observations are cosine and sine of both angles, and how fast they turn.
 *
 * @example
 * ```ts
 * const environment = makeAcrobot();
 * environment.reset({ seed: 1 });
 * const { observation, reward } = environment.step(2);
 * ```
 */
export const makeAcrobot = defineEnvironment({
  name: "Acrobot-v1",
  observation: box({
    shape: [6],
    low: [-1, -1, -1, -1, -FASTEST_UPPER, -FASTEST_LOWER],
    high: [1, 1, 1, 1, FASTEST_UPPER, FASTEST_LOWER],
  }),
  action: discrete(3),
  timeLimit: 500,
  initial: (random): State => ({
    upper: Math.fround(random.uniform(-0.1, 0.1)),
    lower: Math.fround(random.uniform(-0.1, 0.1)),
    upperTurn: Math.fround(random.uniform(-0.1, 0.1)),
    lowerTurn: Math.fround(random.uniform(-0.1, 0.1)),
  }),
  step(before, action) {
    const state = swing(before, action - 1);
    const terminated = -Math.cos(state.upper) - Math.cos(state.lower + state.upper) > 1;
    return { state, reward: terminated ? 0 : -1, terminated };
  },
  observe: ({ upper, lower, upperTurn, lowerTurn }) => [
    Math.cos(upper),
    Math.sin(upper),
    Math.cos(lower),
    Math.sin(lower),
    upperTurn,
    lowerTurn,
  ],
  draw,
});

/** One step by the classical Runge-Kutta rule. */
function swing(s: State, torque: number): State {
  const k1 = rates(s.upper, s.lower, s.upperTurn, s.lowerTurn, torque);
  const k2 = ratesAfter(s, k1, SECONDS / 2, torque);
  const k3 = ratesAfter(s, k2, SECONDS / 2, torque);
  const k4 = ratesAfter(s, k3, SECONDS, torque);
  const sixth = SECONDS / 6;
  return {
    upper: wrapped(s.upper + sixth * (k1.upper + 2 * k2.upper + 2 * k3.upper + k4.upper)),
    lower: wrapped(s.lower + sixth * (k1.lower + 2 * k2.lower + 2 * k3.lower + k4.lower)),
    upperTurn: bounded(
      s.upperTurn + sixth * (k1.upperTurn + 2 * k2.upperTurn + 2 * k3.upperTurn + k4.upperTurn),
      FASTEST_UPPER,
    ),
    lowerTurn: bounded(
      s.lowerTurn + sixth * (k1.lowerTurn + 2 * k2.lowerTurn + 2 * k3.lowerTurn + k4.lowerTurn),
      FASTEST_LOWER,
    ),
  };
}

const ratesAfter = (s: State, k: State, seconds: number, torque: number): State =>
  rates(
    s.upper + seconds * k.upper,
    s.lower + seconds * k.lower,
    s.upperTurn + seconds * k.upperTurn,
    s.lowerTurn + seconds * k.lowerTurn,
    torque,
  );

/** How fast everything changes: links of mass, length and inertia 1, with their masses in the middle. */
function rates(upper: number, lower: number, upperTurn: number, lowerTurn: number, torque: number): State {
  const cos = Math.cos(lower);
  const sin = Math.sin(lower);
  const d1 = 0.25 + (1.25 + cos) + 1 + 1;
  const d2 = 0.25 + 0.5 * cos + 1;
  const phi2 = 0.5 * GRAVITY * Math.cos(upper + lower - HALF_PI);
  const phi1 =
    -0.5 * lowerTurn * lowerTurn * sin -
    lowerTurn * upperTurn * sin +
    1.5 * GRAVITY * Math.cos(upper - HALF_PI) +
    phi2;
  const lowerRate =
    (torque + (d2 / d1) * phi1 - 0.5 * upperTurn * upperTurn * sin - phi2) / (1.25 - (d2 * d2) / d1);
  const upperRate = -(d2 * lowerRate + phi1) / d1;
  return { upper: upperTurn, lower: lowerTurn, upperTurn: upperRate, lowerTurn: lowerRate };
}

function wrapped(angle: number): number {
  let x = angle;
  while (x > Math.PI) x -= 2 * Math.PI;
  while (x < -Math.PI) x += 2 * Math.PI;
  return x;
}

const bounded = (x: number, most: number): number => Math.min(Math.max(x, -most), most);

function draw({ upper, lower }: State): Drawing {
  const joint = [2.2, 2.2] as const;
  const elbow = [joint[0] + Math.sin(upper), joint[1] + Math.cos(upper)] as const;
  const end = [elbow[0] + Math.sin(upper + lower), elbow[1] + Math.cos(upper + lower)] as const;
  return {
    width: 4.4,
    height: 4.4,
    shapes: [
      { kind: "line", from: [0, 1.2], to: [4.4, 1.2], color: "#888888", width: 0.03 },
      { kind: "line", from: joint, to: elbow, color: "#3b6ea5", width: 0.2 },
      { kind: "line", from: elbow, to: end, color: "#3b6ea5", width: 0.2 },
      { kind: "circle", at: joint, radius: 0.12, color: "#c9b74b" },
      { kind: "circle", at: elbow, radius: 0.12, color: "#c9b74b" },
    ],
  };
}
