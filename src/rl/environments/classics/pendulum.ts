import { box } from "../../spaces/make.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";

const FASTEST = 8;
const STRONGEST = 2;
const SECONDS = 0.05;
const ROUND = 2 * Math.PI;
const single = Math.fround;

interface State {
  /** From upright. */
  readonly angle: number;
  readonly turn: number;
}

/**
 * Gymnasium's Pendulum-v1: a torque from -2 to 2 swings a pendulum up and holds it there. Each step costs the square of
 * its angle from upright, and a little of its speed and the torque; 200 steps. Observations are the cosine and sine of
 * the angle, and how fast it turns.
 *
 * @example
 * ```ts
 * const environment = makePendulum();
 * environment.reset({ seed: 1 });
 * const { observation, reward } = environment.step([-1.5]);
 * ```
 */
export const makePendulum = defineEnvironment({
  name: "Pendulum-v1",
  observation: box({ shape: [3], low: [-1, -1, -FASTEST], high: [1, 1, FASTEST] }),
  action: box({ shape: [1], low: -STRONGEST, high: STRONGEST }),
  timeLimit: 200,
  initial: (random): State => ({
    angle: random.uniform(-Math.PI, Math.PI),
    turn: random.uniform(-1, 1),
  }),
  step({ angle, turn }, action) {
    const torque = Math.min(Math.max(action[0] as number, -STRONGEST), STRONGEST);
    const off = fromUpright(angle);
    // What is calculated of the torque alone is of single precision, as the torque is.
    const effort = single(single(0.001) * single(torque * torque));
    const cost = off * off + 0.1 * (turn * turn) + effort;
    const faster = turn + (15 * Math.sin(angle) + single(3 * torque)) * SECONDS;
    const next = Math.min(Math.max(faster, -FASTEST), FASTEST);
    return { state: { angle: angle + next * SECONDS, turn: next }, reward: -cost, terminated: false };
  },
  observe: ({ angle, turn }) => [Math.cos(angle), Math.sin(angle), turn],
  draw,
});

/** The angle between -pi and pi. */
function fromUpright(angle: number): number {
  const rest = (angle + Math.PI) % ROUND;
  return (rest < 0 ? rest + ROUND : rest) - Math.PI;
}

function draw({ angle }: State): Drawing {
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
