import { acrobot, cartPole, mountainCar, mountainCarContinuous, pendulum } from "../compiled/classics.ts";
import type { CompiledEnvironment } from "../compiled/compiled.ts";
import { makeAcrobot } from "./classics/acrobot.ts";
import { makeCartPole } from "./classics/cart-pole.ts";
import { makeMountainCar } from "./classics/mountain-car.ts";
import { makeMountainCarContinuous } from "./classics/mountain-car-continuous.ts";
import { makePendulum } from "./classics/pendulum.ts";
import type { Environment } from "./environment.ts";
import { compiledGridWorld } from "./grid/compiled.ts";
import { gridWorld } from "./grid/grid-world.ts";

/** How an environment of a name is made, and how its compiled form is, where it has one. */
export interface EnvironmentEntry {
  readonly make: () => Environment;
  readonly compiled?: () => CompiledEnvironment;
}

/** The environments that come with Espalier. */
export const builtIn: Readonly<Record<string, EnvironmentEntry>> = {
  "CartPole-v1": { make: makeCartPole, compiled: () => cartPole },
  "Acrobot-v1": { make: makeAcrobot, compiled: () => acrobot },
  "MountainCar-v0": { make: makeMountainCar, compiled: () => mountainCar },
  "MountainCarContinuous-v0": {
    make: makeMountainCarContinuous,
    compiled: () => mountainCarContinuous,
  },
  "Pendulum-v1": { make: makePendulum, compiled: () => pendulum },
  "GridWorld-v0": { make: () => gridWorld(), compiled: () => compiledGridWorld() },
  "GridWorldTeam-v0": {
    make: () => gridWorld({ agents: 2 }),
    compiled: () => compiledGridWorld({ agents: 2 }),
  },
};
