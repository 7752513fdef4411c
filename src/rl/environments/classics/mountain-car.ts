import { np, random, type Value } from "../../../engine/index.ts";
import { box, discrete } from "../../spaces/space.ts";
import { defineEnvironment } from "../define.ts";
import type { Drawing } from "../environment.ts";
import { compiledClassic } from "./classic.ts";

const LEFT = -1.2;
const RIGHT = 0.6;
const MAX_SPEED = 0.07;
const GRAVITY = 0.0025;
/** Of the car with three actions. */
const FORCE = 0.001;
const GOAL = 0.5;
/** Of the car with any force. */
const POWER = 0.0015;
const CONTINUOUS_GOAL = 0.45;

const observation = box({ shape: [2], low: [LEFT, -MAX_SPEED], high: [RIGHT, MAX_SPEED] });
const rules = { name: "MountainCar-v0", observation, action: discrete(3), timeLimit: 200 };
const continuousRules = {
  name: "MountainCarContinuous-v0",
  observation,
  action: box({ shape: [1], low: -1, high: 1 }),
  timeLimit: 999,
};

interface MountainCarVariables {
  readonly position: number;
  readonly velocity: number;
}

/**
 * Gymnasium's MountainCar-v0: a car too weak for the hill drives left (0), not at all (1) or right (2), and must swing
 * itself up to the flag. The reward is -1 per step, for at most 200 steps. Observations are its position and velocity.
 *
 * @example
 * ```ts
 * const environment = mountainCar();
 * environment.reset({ seed: 1 });
 * const { observation } = environment.step(2);
 * ```
 */
export const mountainCar = defineEnvironment({
  ...rules,
  initial: (random): MountainCarVariables => ({ position: random.uniform(-0.6, -0.4), velocity: 0 }),
  step(state, action) {
    const push = (action - 1) * FORCE + Math.cos(3 * state.position) * -GRAVITY;
    const velocity = Math.min(Math.max(state.velocity + push, -MAX_SPEED), MAX_SPEED);
    const position = Math.min(Math.max(state.position + velocity, LEFT), RIGHT);
    // The wall on the left stops it.
    const after = position === LEFT && velocity < 0 ? 0 : velocity;
    const terminated = position >= GOAL && after >= 0;
    return { state: { position, velocity: after }, reward: -1, terminated };
  },
  observe: ({ position, velocity }) => [position, velocity],
  draw: ({ position }) => drawHill(position, GOAL),
});

/** Gymnasium computes the continuous car in single precision. */
const single = Math.fround;

/**
 * Gymnasium's MountainCarContinuous-v0: as MountainCar-v0, with any force from -1 to 1. The reward is 100 at the flag,
 * less a tenth of the square of every force, for at most 999 steps.
 *
 * @example
 * ```ts
 * const environment = mountainCarContinuous();
 * environment.reset({ seed: 1 });
 * const { observation } = environment.step([0.5]);
 * ```
 */
export const mountainCarContinuous = defineEnvironment({
  ...continuousRules,
  initial: (random): MountainCarVariables => ({ position: single(random.uniform(-0.6, -0.4)), velocity: 0 }),
  step(state, action) {
    const force = action[0] as number;
    const velocity = bounded(single(state.velocity + push(state.position, force)), -MAX_SPEED, MAX_SPEED);
    const position = bounded(single(state.position + velocity), LEFT, RIGHT);
    const after = position === single(LEFT) && velocity < 0 ? 0 : velocity;
    const terminated = position >= single(CONTINUOUS_GOAL) && after >= 0;
    const reward = (terminated ? 100 : 0) - force * force * 0.1;
    return { state: { position, velocity: after }, reward, terminated };
  },
  observe: ({ position, velocity }) => [position, velocity],
  draw: ({ position }) => drawHill(position, CONTINUOUS_GOAL),
});

function push(position: number, force: number): number {
  const down = GRAVITY * Math.cos(single(3 * position));
  // Gymnasium computes a clipped force in double precision.
  if (force > 1 || force < -1) return single((force > 1 ? 1 : -1) * POWER - down);
  return single(single(force * single(POWER)) - single(down));
}

function bounded(x: number, low: number, high: number): number {
  if (x > single(high)) return single(high);
  return x < single(low) ? single(low) : x;
}

const height = (x: number): number => 0.45 * Math.sin(3 * x) + 0.55;
const across = (x: number): number => x - LEFT;
const down = (y: number): number => 1.15 - y;

const ridge = Array.from({ length: 61 }, (_, i) => {
  const x = LEFT + ((RIGHT - LEFT) * i) / 60;
  return [across(x), down(height(x))] as const;
});

/** Draws the car on its hill, with a flag at the goal. */
function drawHill(position: number, goal: number): Drawing {
  const [flag, top] = [across(goal), down(height(goal))];
  return {
    width: RIGHT - LEFT,
    height: 1.2,
    shapes: [
      { kind: "path", points: ridge, color: "#888888" },
      { kind: "line", from: [flag, top], to: [flag, top - 0.12], color: "#666666", width: 0.01 },
      {
        kind: "path",
        points: [
          [flag, top - 0.12],
          [flag, top - 0.06],
          [flag + 0.07, top - 0.09],
        ],
        color: "#c9b74b",
        filled: true,
      },
      {
        kind: "circle",
        at: [across(position), down(height(position)) - 0.04],
        radius: 0.04,
        color: "#3b6ea5",
      },
    ],
  };
}

const start = (key: Value): Value =>
  np.stack([random.uniform(key, [], { min: -0.6, max: -0.4 }), np.zeros([])]);

/** The car's next position and velocity under a force, and a flag that says if it has reached the goal. */
function drive(before: Value, force: Value, goal: number): { motion: Value; terminated: Value } {
  const position = np.slice(before, 0);
  const pulled = np
    .slice(before, 1)
    .add(force)
    .sub(np.cos(position.mul(3)).mul(GRAVITY));
  const velocity = np.clip(pulled, -MAX_SPEED, MAX_SPEED);
  const next = np.clip(position.add(velocity), LEFT, RIGHT);
  const stopped = np.logicalAnd(np.equal(next, LEFT), np.less(velocity, 0));
  const kept = np.where(stopped, 0, velocity);
  const terminated = np.logicalAnd(np.greaterEqual(next, goal), np.greaterEqual(kept, 0));
  return { motion: np.stack([next, kept]), terminated };
}

/**
 * Gymnasium's MountainCar-v0 as functions of traced values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(compiledMountainCar(), 64);
 * ```
 */
export const compiledMountainCar = compiledClassic(rules, {
  start,
  move: (motion, action) => ({
    ...drive(motion, np.slice(action, 0).sub(1).mul(FORCE), GOAL),
    reward: np.full([], -1),
  }),
});

/**
 * Gymnasium's MountainCarContinuous-v0 as functions of traced values.
 *
 * @example
 * ```ts
 * const rows = compiledRows(compiledMountainCarContinuous(), 64);
 * ```
 */
export const compiledMountainCarContinuous = compiledClassic(continuousRules, {
  start,
  move: (before, action) => {
    const force = np.slice(action, 0);
    const { motion, terminated } = drive(before, np.clip(force, -1, 1).mul(POWER), CONTINUOUS_GOAL);
    const reward = np.where(terminated, 100, 0).astype("f32").sub(force.mul(force).mul(0.1));
    return { motion, reward, terminated };
  },
});
