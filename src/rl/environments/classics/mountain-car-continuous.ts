import { box } from "../../spaces/make.ts";
import { defineEnvironment } from "../define.ts";
import { drawHill, FASTEST, LEFT, RIGHT } from "./hill.ts";

const GOAL = 0.45;
const POWER = 0.0015;
const single = Math.fround;

interface State {
  /** Both in single precision: Gymnasium calculates this one in it. */
  readonly position: number;
  readonly velocity: number;
}

/**
 * Gymnasium's MountainCarContinuous-v0: as MountainCar-v0, with any force from -1 to 1. 100 at the flag, less a tenth of
 * the square of every force, for at most 999 steps.
 *
 * @example
 * ```ts
 * const environment = makeMountainCarContinuous();
 * environment.reset({ seed: 1 });
 * const { observation } = environment.step([0.5]);
 * ```
 */
export const makeMountainCarContinuous = defineEnvironment({
  name: "MountainCarContinuous-v0",
  observation: box({ shape: [2], low: [LEFT, -FASTEST], high: [RIGHT, FASTEST] }),
  action: box({ shape: [1], low: -1, high: 1 }),
  timeLimit: 999,
  initial: (random): State => ({ position: single(random.uniform(-0.6, -0.4)), velocity: 0 }),
  step(state, action) {
    const asked = action[0] as number;
    const velocity = bounded(single(state.velocity + push(state.position, asked)), -FASTEST, FASTEST);
    const position = bounded(single(state.position + velocity), LEFT, RIGHT);
    // The wall on the left stops it.
    const after = position === single(LEFT) && velocity < 0 ? 0 : velocity;
    const terminated = position >= single(GOAL) && after >= 0;
    const reward = (terminated ? 100 : 0) - asked * asked * 0.1;
    return { state: { position, velocity: after }, reward, terminated };
  },
  observe: ({ position, velocity }) => [position, velocity],
  draw: ({ position }) => drawHill(position, GOAL),
});

function push(position: number, asked: number): number {
  const down = 0.0025 * Math.cos(single(3 * position));
  // A force that is cut to its bounds is no longer of single precision there.
  if (asked > 1 || asked < -1) return single((asked > 1 ? 1 : -1) * POWER - down);
  return single(single(asked * single(POWER)) - single(down));
}

function bounded(x: number, low: number, high: number): number {
  if (x > single(high)) return single(high);
  return x < single(low) ? single(low) : x;
}
