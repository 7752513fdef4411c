import { messageOf } from "../../core/index.ts";
import {
  box,
  choices,
  dict,
  discrete,
  type Environment,
  multiDiscrete,
  type Space,
  type SpaceValue,
  whyOutside,
} from "../../rl/index.ts";
import { firstDifference, type StateTree } from "../../state/index.ts";
import type { ConformanceCase } from "../conformance.ts";
import {
  EnvironmentBench,
  type EnvironmentCheck,
  fault,
  isOver,
  type Moment,
  resetMoment,
  type Seen,
  type Stepped,
  sameMoments,
  stepMoment,
  text,
  type Values,
} from "./bench.ts";

/**
 * The conformance suite of environments: what it gives lies in its spaces, episodes end, the same seed gives the same
 * episode, a state gives back the future, and nothing is shared that is written into. `make` gives a new environment
 * each time. Actions are random, within action masks.
 *
 * @example
 * ```ts
 * for (const { name, run } of checkEnvironment(() => new MyEnvironment())) test(name, run);
 * ```
 */
export function checkEnvironment(
  make: () => Environment,
  options: EnvironmentCheck = {},
): readonly ConformanceCase[] {
  return Object.entries({ ...givenChecks, ...futureChecks }).map(([name, check]) => ({
    name,
    run: async () => check(new EnvironmentBench(make, options)),
  }));
}

/**
 * All that {@link checkEnvironment} finds wrong, in words: none where all is well.
 *
 * @example
 * ```ts
 * for (const fault of await environmentFaults(makeWalk)) console.log(fault);
 * ```
 */
export async function environmentFaults(
  make: () => Environment,
  options: EnvironmentCheck = {},
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { name, run } of checkEnvironment(make, options))
    await run().catch((error: unknown) => {
      faults.push(`${name}: ${messageOf(error)}`);
    });
  return faults;
}

type EnvironmentCase = (bench: EnvironmentBench) => void | Promise<void>;

/** Checks of what an environment says about itself and gives out. */
const givenChecks: Readonly<Record<string, EnvironmentCase>> = {
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
      eachAgent(environment, stepped.reward, `the reward of ${place}`, (one, whose) => {
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
  bench: EnvironmentBench,
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

/** The length of episodes that are compared. */
const SOME = 200;

const halfOf = (episode: readonly Moment[]): number => Math.max(1, Math.floor(episode.length / 2));

/** Checks that what happens follows from seed, actions and state alone. */
const futureChecks: Readonly<Record<string, EnvironmentCase>> = {
  "the same seed gives the same episode": (bench) => {
    for (const seed of bench.seeds) {
      const expected = bench.episode(bench.make(), seed, SOME);
      sameMoments(bench.episode(bench.make(), seed, SOME), expected, `seed ${seed} in another environment`);
    }
  },

  "reset leaves nothing of the episode before": (bench) => {
    for (const seed of bench.seeds) {
      const environment = bench.make();
      const expected = bench.episode(bench.make(), seed, SOME);
      bench.episode(environment, seed + 1, halfOf(expected));
      const what = `seed ${seed} after an unfinished episode`;
      sameMoments(bench.episode(environment, seed, SOME), expected, what);
      sameMoments(bench.episode(environment, seed, SOME), expected, `seed ${seed} after a whole episode`);
    }
  },

  "a reset without a seed draws on": (bench) => {
    const [a, b] = [bench.make(), bench.make()];
    for (const environment of [a, b]) bench.episode(environment, 0, 5);
    const [first, second] = [resetMoment(bench.reset(a)), resetMoment(bench.reset(b))];
    sameMoments([second], [first], "the second episode after seed 0");
    const expected = bench.play(a, 0, first, SOME);
    sameMoments(bench.play(b, 0, second, SOME), expected, "the second episode after seed 0");
  },

  "a state gives back the future": async (bench) => {
    for (const seed of bench.seeds) {
      const environment = bench.make();
      const half = halfOf(bench.episode(bench.make(), seed, SOME));
      const past = bench.episode(environment, seed, half);
      const last = past.at(-1) as Moment;
      const state = copied(stateOf(environment.getState()));
      const future = bench.play(environment, seed, last, SOME);
      const next = resetMoment(bench.reset(environment));
      for (const [what, other] of [
        ["the same environment", environment],
        ["another environment", bench.make()],
      ] as const) {
        other.setState(copied(state));
        const change = await firstDifference(state, stateOf(other.getState()));
        if (change)
          throw fault(`setState in ${what} does not leave the state as it was given: ${change.text}`);
        const place = `after setState at step ${last.at} of seed ${seed} in ${what}`;
        sameMoments(bench.play(other, seed, last, SOME), future, place);
        sameMoments([resetMoment(bench.reset(other))], [next], `the episode that follows, ${place}`);
      }
    }
  },

  "what is given out and taken in shares no memory": (bench) => {
    const seed = bench.seeds[0] ?? 0;
    const expected = bench.episode(bench.make(), seed, SOME);
    const environment = bench.make();
    let given: Seen = bench.reset(environment, { seed });
    let last = resetMoment(given);
    for (const [i, moment] of expected.entries()) {
      sameMoments([last], [moment], "after what it gave out before was written into");
      spoil(stateOf(environment.getState()));
      const state = copied(stateOf(environment.getState()));
      environment.setState(state);
      spoil(state);
      if (i === expected.length - 1) break;
      const action = bench.action(environment, seed, last.at + 1, last.seen);
      const stepped = environment.step(action);
      const later = last.stepped ? stepMoment(last.at, given as Stepped) : resetMoment(given);
      sameMoments([later], [last], "what was given out, a step later");
      spoil(action);
      spoil(given.observation);
      spoil(given.actionMask);
      given = stepped;
      last = stepMoment(last.at + 1, stepped);
    }
  },

  "a step after the end is refused or harmless": (bench) => {
    const seed = bench.seeds[0] ?? 0;
    const environment = bench.make();
    const expected = bench.episode(environment, seed);
    try {
      const action = bench.action(environment, seed, 0, (expected.at(-1) as Moment).seen);
      environment.step(action);
    } catch {
      // Refused.
    }
    sameMoments(bench.episode(environment, seed), expected, `seed ${seed} after a step after the end`);
  },

  "every lesson can be played": (bench) => {
    const { lessons = [] } = bench.make();
    for (const [lesson, name] of lessons.entries()) {
      const play = (): Moment[] => {
        const environment = bench.make();
        const first = resetMoment(bench.reset(environment, { seed: 0, lesson }));
        return [first, ...bench.play(environment, 0, first, SOME)];
      };
      sameMoments(play(), play(), `lesson ${lesson} (${name}) with seed 0, a second time`);
    }
  },

  "drawing changes nothing": async (bench) => {
    const environment = bench.make();
    if (!environment.render) return;
    bench.episode(environment, bench.seeds[0] ?? 0, 3);
    const before = copied(stateOf(environment.getState()));
    const drawing = environment.render();
    const change = await firstDifference(before, stateOf(environment.getState()));
    if (change) throw fault(`render changes the state: ${change.text}`);
    if (!(drawing?.width > 0 && drawing.height > 0 && Array.isArray(drawing.shapes)))
      throw fault(`render gave ${text(drawing)}, which is no drawing with width, height and shapes`);
  },
};

/** A state, or why it is none. */
function stateOf(state: StateTree): StateTree {
  if (state !== undefined && state !== null) return state;
  throw fault(`getState gave ${text(state)}, where its state is expected`);
}

/** Refuses a mask that forbids all of some choice. */
function checkAllows(space: Space, mask: Uint8Array, from: number, place: string): void {
  if (space.kind === "dict") {
    let at = from;
    for (const name of Object.keys(space.spaces).sort()) {
      const part = space.spaces[name] as Space;
      checkAllows(part, mask, at, place);
      at += choices(part);
    }
    return;
  }
  let at = from;
  for (const n of space.kind === "discrete"
    ? [space.n]
    : space.kind === "multiDiscrete"
      ? space.choices
      : []) {
    if (mask.subarray(at, at + n).every((one) => one === 0))
      throw fault(
        `the action mask of ${place} is ${text(mask)}, which allows nothing from ${at} to ${at + n - 1}`,
      );
    at += n;
  }
}

/** Makes the space again, so that what its maker refuses is a fault. */
function checkSpace(what: string, space: Space): void {
  try {
    remade(space);
  } catch (cause) {
    throw fault(`${what} is no space: ${(cause as Error).message.split("\n")[0]}`, cause);
  }
}

function remade(space: Space): Space {
  switch (space?.kind) {
    case "discrete":
      return discrete(space.n);
    case "multiDiscrete":
      return multiDiscrete(space.choices);
    case "box":
      return box(space);
    case "dict":
      for (const part of Object.values(space.spaces)) remade(part);
      return dict(space.spaces);
    default:
      throw new Error(`it is ${text(space)}`);
  }
}

/** A copy that shares no memory. */
export const copied = <T>(value: T): T => structuredClone(value);

/** Writes into every array and object there is, as a careless user would. */
function spoil(value: unknown): void {
  if (ArrayBuffer.isView(value)) (value as Uint8Array).fill(77);
  else if (Array.isArray(value)) {
    value.forEach((item, i) => {
      if (typeof item === "number") value[i] = 77;
      else spoil(item);
    });
  } else if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    const parts = value as Record<string, unknown>;
    for (const [name, part] of Object.entries(parts)) {
      if (typeof part === "number") parts[name] = 77;
      else spoil(part);
    }
  }
}
