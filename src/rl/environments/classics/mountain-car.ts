import { box, discrete } from "../../spaces/make.ts";
import { defineEnvironment } from "../define.ts";
import { drawHill, FASTEST, LEFT, RIGHT } from "./hill.ts";

const GOAL = 0.5;
const FORCE = 0.001;
const GRAVITY = 0.0025;

interface State {
  readonly position: number;
  readonly velocity: number;
}

/**
 * Gymnasium's MountainCar-v0: a car too weak for the hill drives left (0), not at all (1) or right (2), and must swing
 * itself up to the flag. -1 for every step, for at most 200 steps. Observations are its place and speed.
 *
 * @example
 * ```ts
 * const environment = makeMountainCar();
 * environment.reset({ seed: 1 });
 * const { observation } = environment.step(2);
 * ```
 */
export const makeMountainCar = defineEnvironment({
  name: "MountainCar-v0",
  observation: box({ shape: [2], low: [LEFT, -FASTEST], high: [RIGHT, FASTEST] }),
  action: discrete(3),
  timeLimit: 200,
  initial: (random): State => ({ position: random.uniform(-0.6, -0.4), velocity: 0 }),
  step(state, action) {
    const push = (action - 1) * FORCE + Math.cos(3 * state.position) * -GRAVITY;
    const velocity = Math.min(Math.max(state.velocity + push, -FASTEST), FASTEST);
    const position = Math.min(Math.max(state.position + velocity, LEFT), RIGHT);
    // The wall on the left stops it.
    const after = position === LEFT && velocity < 0 ? 0 : velocity;
    const terminated = position >= GOAL && after >= 0;
    return { state: { position, velocity: after }, reward: -1, terminated };
  },
  observe: ({ position, velocity }) => [position, velocity],
  draw: ({ position }) => drawHill(position, GOAL),
});
