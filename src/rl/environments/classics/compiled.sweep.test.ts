import { describe, expect, it } from "vitest";
import { sweepEngines } from "../../../engine/run/engines.test-support.ts";
import type { StateTree } from "../../../state/index.ts";
import type { PlainState } from "../../../testing/environments/check-compiled.ts";
import { checkCompiledEnvironment } from "../../../testing/environments/check-compiled.ts";
import type { SpaceValue } from "../../spaces/index.ts";
import type { CompiledEnvironment } from "../compiled.ts";
import type { Environment, Reset } from "../environment.ts";
import { SeededRandom } from "../random.ts";
import { acrobot, compiledAcrobot } from "./acrobot.ts";
import { cartPole, compiledCartPole } from "./cart-pole.ts";
import {
  compiledMountainCar,
  compiledMountainCarContinuous,
  mountainCar,
  mountainCarContinuous,
} from "./mountain-car.ts";
import { compiledPendulum, pendulum } from "./pendulum.ts";

interface SavedEpisode {
  readonly phase: string;
  readonly steps: number;
  readonly state: Readonly<Record<string, number>>;
}

/** The motion as named numbers of the ordinary environment's state. */
const motion =
  (...names: readonly string[]) =>
  (saved: StateTree): PlainState => {
    const { steps, state } = saved as unknown as SavedEpisode;
    return { motion: names.map((name) => state[name] as number), steps };
  };

interface CompiledCase {
  readonly compiled: CompiledEnvironment;
  readonly make: () => Environment;
  /** The motion's numbers by their names in the ordinary state, and how far from 0 episodes may begin. */
  readonly names: Readonly<Record<string, number>>;
  readonly limit: number;
}

const cases = [
  {
    compiled: compiledCartPole(),
    make: cartPole,
    names: { x: 2.3, speed: 3, angle: 0.2, turn: 3 },
    limit: 500,
  },
  {
    compiled: compiledAcrobot(),
    make: acrobot,
    names: { upper: 3.1, lower: 3.1, upperTurn: 4 * Math.PI, lowerTurn: 9 * Math.PI },
    limit: 500,
  },
  {
    compiled: compiledMountainCar(),
    make: mountainCar,
    names: { position: 0.55, velocity: 0.07 },
    limit: 200,
  },
  {
    compiled: compiledMountainCarContinuous(),
    make: mountainCarContinuous,
    names: { position: 0.5, velocity: 0.07 },
    limit: 999,
  },
  { compiled: compiledPendulum(), make: pendulum, names: { angle: 40, turn: 8 }, limit: 200 },
] as unknown as readonly CompiledCase[];

/** Begins episodes anywhere, 30 steps before their limit, and counts those before that were terminated. */
function anywhere({ names, limit }: CompiledCase) {
  const random = new SeededRandom(5);
  const count = { terminated: 0 };
  const begin = (environment: Environment): Reset<SpaceValue | readonly SpaceValue[]> => {
    for (;;) {
      const { phase, steps } = environment.getState() as unknown as SavedEpisode;
      if (phase === "over" && steps < limit) count.terminated++;
      environment.reset({ seed: random.integer(1000) });
      const state = Object.fromEntries(
        Object.entries(names).map(([name, far]) => [name, random.uniform(-far, far)]),
      );
      environment.setState({ ...(environment.getState() as object), state, steps: limit - 30 });
      // What is seen there follows from a step.
      const first = environment.step(environment.actionSpace.kind === "discrete" ? 0 : [0.5]);
      if (!first.terminated) return first;
    }
  };
  return { begin, count };
}

describe.each(sweepEngines())("on %s", (engine) => {
  it.each(cases)("$compiled.name takes each step as the ordinary one does, to 1e-5", async (given) => {
    const { compiled, make, names } = given;
    const options = { state: motion(...Object.keys(names)), steps: 3000, engine };
    await checkCompiledEnvironment(compiled, make(), options);
    const { begin, count } = anywhere(given);
    await checkCompiledEnvironment(compiled, make(), { ...options, begin });
    expect(count.terminated > 5).toBe(compiled.name !== "Pendulum-v1");
  });
});
