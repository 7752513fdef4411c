import { np, random, type Value } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/space.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";
import { compiledClassic } from "./classic.ts";
import { wrapAngle } from "./pendulum.ts";

const SECONDS = 0.2;
const MAX_UPPER = 4 * Math.PI;
const MAX_LOWER = 9 * Math.PI;
const GRAVITY = 9.8;
const HALF_PI = Math.PI / 2;

const rules = {
  name: "Acrobot-v1",
  observation: box({
    shape: [6],
    low: [-1, -1, -1, -1, -MAX_UPPER, -MAX_LOWER],
    high: [1, 1, 1, 1, MAX_UPPER, MAX_LOWER],
  }),
  action: discrete(3),
  timeLimit: 500,
};

interface AcrobotVariables {
  /** Angle of the upper link from hanging straight down, and of the lower link from the upper one. */
  readonly upper: number;
  readonly lower: number;
  readonly upperTurn: number;
  readonly lowerTurn: number;
}

/**
 * Gymnasium's Acrobot-v1: two links hang from a joint, and torque -1, 0 or 1 (actions 0 to 2) between them swings the
 * free end above a line one link's length over the joint. The reward is -1 per step until then, for at most 500 steps.
 * Observations are the cosine and sine of both angles, and their angular velocities.
 *
 * @example
 * ```ts
 * const environment = acrobot();
 * environment.reset({ seed: 1 });
 * const { observation, reward } = environment.step(2);
 * ```
 */
export const acrobot = defineEnvironment({
  ...rules,
  initial: (random): AcrobotVariables => ({
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
function swing(s: AcrobotVariables, torque: number): AcrobotVariables {
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
      MAX_UPPER,
    ),
    lowerTurn: bounded(
      s.lowerTurn + sixth * (k1.lowerTurn + 2 * k2.lowerTurn + 2 * k3.lowerTurn + k4.lowerTurn),
      MAX_LOWER,
    ),
  };
}

const ratesAfter = (
  s: AcrobotVariables,
  k: AcrobotVariables,
  seconds: number,
  torque: number,
): AcrobotVariables =>
  rates(
    s.upper + seconds * k.upper,
    s.lower + seconds * k.lower,
    s.upperTurn + seconds * k.upperTurn,
    s.lowerTurn + seconds * k.lowerTurn,
    torque,
  );

/** Time derivatives of the state: links of mass, length and inertia 1, with their masses in the middle. */
function rates(
  upper: number,
  lower: number,
  upperTurn: number,
  lowerTurn: number,
  torque: number,
): AcrobotVariables {
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

function draw({ upper, lower }: AcrobotVariables): Drawing {
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

/**
 * Gymnasium's Acrobot-v1 ("book" dynamics, all masses and lengths 1) as functions of traced values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(compiledAcrobot(), 64);
 * ```
 */
export const compiledAcrobot = compiledClassic(rules, {
  start: (key) => random.uniform(key, [4], { min: -0.1, max: 0.1 }),
  move: (motion, action) => {
    const torque = np.slice(action, 0).sub(1);
    const [angle1, angle2, turning1, turning2] = integrate(parts(motion), torque);
    const first = wrapAngle(angle1);
    const second = wrapAngle(angle2);
    // The lower end is more than one link above the pivot.
    const terminated = np.less(np.cos(first).add(np.cos(first.add(second))), -1);
    return {
      motion: np.stack([
        first,
        second,
        np.clip(turning1, -MAX_UPPER, MAX_UPPER),
        np.clip(turning2, -MAX_LOWER, MAX_LOWER),
      ]),
      reward: np.where(terminated, 0, -1).astype("f32"),
      terminated,
    };
  },
  observe: (motion) => {
    const [angle1, angle2, turning1, turning2] = parts(motion);
    return np.stack([np.cos(angle1), np.sin(angle1), np.cos(angle2), np.sin(angle2), turning1, turning2]);
  },
});

/** The angles of both links and their velocities. */
type Motion = readonly [angle1: Value, angle2: Value, turning1: Value, turning2: Value];

const eachOf = (number: (i: 0 | 1 | 2 | 3) => Value): Motion => [number(0), number(1), number(2), number(3)];

const parts = (motion: Value): Motion => eachOf((i) => np.slice(motion, i));

/** One step of the classical Runge-Kutta method over the whole interval. */
function integrate(start: Motion, torque: Value): Motion {
  const after = (rates: Motion, time: number): Motion => eachOf((i) => start[i].add(rates[i].mul(time)));
  const k1 = derivatives(start, torque);
  const k2 = derivatives(after(k1, SECONDS / 2), torque);
  const k3 = derivatives(after(k2, SECONDS / 2), torque);
  const k4 = derivatives(after(k3, SECONDS), torque);
  return eachOf((i) => {
    const sum = k1[i].add(k4[i]).add(k2[i].add(k3[i]).mul(2));
    return start[i].add(sum.mul(SECONDS / 6));
  });
}

/** Time derivatives of the state. Links of mass 1 and length 1, centred at 0.5, with moments of inertia 1. */
function derivatives([angle1, angle2, turning1, turning2]: Motion, torque: Value): Motion {
  const cosine2 = np.cos(angle2);
  const sine2 = np.sin(angle2);
  const d1 = cosine2.add(3.5);
  const d2 = cosine2.mul(0.5).add(1.25);
  const phi2 = np.sin(angle1.add(angle2)).mul(0.5 * GRAVITY);
  const phi1 = turning2
    .mul(turning2)
    .mul(-0.5)
    .sub(turning2.mul(turning1))
    .mul(sine2)
    .add(np.sin(angle1).mul(1.5 * GRAVITY))
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
