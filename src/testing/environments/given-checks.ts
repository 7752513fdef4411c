import type { Environment, SpaceValue } from "../../rl/index.ts";
import { choices, whyOutside } from "../../rl/index.ts";
import {
  type Bench,
  fault,
  isOver,
  type Moment,
  resetMoment,
  stepMoment,
  text,
  type Values,
} from "./bench.ts";
import { checkAllows, checkSpace } from "./space-checks.ts";

type Check = (bench: Bench) => void | Promise<void>;

/** Checks of what an environment says about itself and gives out. */
export const givenChecks: Readonly<Record<string, Check>> = {
  "it has a name, spaces, agents and lessons": (bench) => {
    const { name, agents = 1, lessons, observationSpace, actionSpace } = bench.make();
    if (typeof name !== "string" || name === "") throw fault(`its name is ${text(name)}`);
    checkSpace("observationSpace", observationSpace);
    checkSpace("actionSpace", actionSpace);
    if (!Number.isInteger(agents) || agents < 1) throw fault(`agents is ${text(agents)}`);
    if (lessons === undefined) return;
    const named = Array.isArray(lessons) && lessons.length > 0 && lessons.every((x) => typeof x === "string");
    if (!named || new Set(lessons).size < lessons.length)
      throw fault(`lessons are ${text(lessons)}, where different names are expected`);
  },

  "observations lie in their space": (bench) =>
    eachMoment(bench, (environment, { seen }, place) => {
      if (seen.observation === undefined) throw fault(`${place} gave no observation`);
      eachAgent(environment, seen.observation, `the observation of ${place}`, (one, whose) => {
        const why = whyOutside(environment.observationSpace, one);
        if (why !== undefined) throw fault(`${whose} is not of its space: ${why}`);
      });
    }),

  "rewards are numbers": (bench) =>
    eachMoment(bench, (environment, { stepped }, place) => {
      if (!stepped) return;
      eachAgent(environment, stepped.reward as never, `the reward of ${place}`, (one, whose) => {
        if (typeof one !== "number" || !Number.isFinite(one)) throw fault(`${whose} is ${text(one)}`);
      });
    }),

  "every step says whether the episode is terminated and truncated": (bench) =>
    eachMoment(bench, (_, { stepped }, place) => {
      for (const end of ["terminated", "truncated"] as const)
        if (stepped && typeof stepped[end] !== "boolean")
          throw fault(`${end} of ${place} is ${text(stepped[end])}, where true or false is expected`);
    }),

  "action masks have an entry for every choice and allow some": (bench) =>
    eachMoment(bench, (environment, moment, place, first) => {
      const { actionMask } = moment.seen;
      const had = first.seen.actionMask !== undefined;
      if ((actionMask !== undefined) !== had)
        throw fault(`${place} has ${had ? "no" : "an"} action mask, unlike the reset before it`);
      if (actionMask === undefined) return;
      const { actionSpace, agents = 1 } = environment;
      const size = agents * choices(actionSpace);
      if (!(actionMask instanceof Uint8Array) || actionMask.length !== size)
        throw fault(`the action mask of ${place} is ${text(actionMask)}, where ${size} bytes are expected`);
      if (actionMask.some((one) => one > 1))
        throw fault(`the action mask of ${place} is ${text(actionMask)}, where 0 and 1 are expected`);
      if (isOver(moment)) return;
      for (let i = 0; i < agents; i++) checkAllows(actionSpace, actionMask, (size / agents) * i, place);
    }),

  "episodes end": (bench) => {
    if (bench.endless) return;
    for (const seed of bench.seeds) {
      const last = bench.episode(bench.make(), seed).at(-1) as Moment;
      if (!isOver(last))
        throw fault(
          `the episode with seed ${seed} was not over after ${bench.steps} steps: ` +
            "set a time limit, or say { endless: true } if whoever uses it does",
        );
    }
  },
};

/** Every moment of an episode a seed. Stops at what is no step, which is another check's to say. */
function eachMoment(
  bench: Bench,
  check: (environment: Environment, moment: Moment, place: string, first: Moment) => void,
): void {
  for (const seed of bench.seeds) {
    const environment = bench.make();
    const first = resetMoment(bench.reset(environment, { seed }));
    const episode = `the episode with seed ${seed}`;
    check(environment, first, `the reset of ${episode}`, first);
    let last = first;
    for (let at = 1; at <= bench.steps && !isOver(last); at++) {
      const stepped = bench.step(environment, seed, at, last.seen);
      last = stepMoment(at, stepped);
      check(environment, last, `step ${at} of ${episode}`, first);
    }
  }
}

function eachAgent(
  { agents = 1 }: Environment,
  given: Values,
  what: string,
  check: (one: SpaceValue, whose: string) => void,
): void {
  if (agents === 1) {
    check(given as SpaceValue, what);
    return;
  }
  if (!Array.isArray(given) || given.length !== agents)
    throw fault(`${what} is ${text(given)}, where a list for ${agents} agents is expected`);
  given.forEach((one: SpaceValue, i) => check(one, `${what} for agent ${i}`));
}
