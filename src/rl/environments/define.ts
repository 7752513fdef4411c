import { badOption, checkOptions, EspalierError, option, shown } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import { whyOutside } from "../spaces/contains.ts";
import {
  boxSize,
  choices,
  isSpace,
  type Numbers,
  partNames,
  partOf,
  type Space,
  type SpaceValue,
  type ValueFor,
  type ValueIn,
} from "../spaces/space.ts";
import {
  copyState,
  type Drawing,
  type Environment,
  isPromise,
  kindOf,
  type Reset,
  type ResetOptions,
  type Step,
} from "./environment.ts";
import { type EnvironmentRandom, SeededRandom } from "./random.ts";

/** A list with an entry per agent if `agents` is given, else a single value. */
export type PerAgent<N extends number | undefined, T> = N extends number ? readonly T[] : T;

/** The result of a definition's `step`. */
export interface StepOutcome<State, N extends number | undefined = undefined> {
  readonly state: State;
  readonly reward: PerAgent<N, number>;
  /** The episode is over. */
  readonly terminated: boolean;
  /** The episode is cut off, apart from its `timeLimit`. Default: false. */
  readonly truncated?: boolean;
  readonly info?: Readonly<Record<string, unknown>>;
}

/** An environment as functions of its state, which is a plain tree: see `defineEnvironment`. */
export interface Definition<
  State,
  O extends Space = Space,
  A extends Space = Space,
  N extends number | undefined = undefined,
> {
  readonly name: string;
  readonly observation: O;
  readonly action: A;
  /** How many agents act at once. If it is given, actions, rewards and observations are lists with one for each. */
  readonly agents?: N;
  /** Names of its lessons. */
  readonly lessons?: readonly string[];
  /** Steps after which an episode is truncated. Default: never. */
  readonly timeLimit?: number;
  /** The first state of an episode. `lesson` is the index of its lesson. */
  initial(random: EnvironmentRandom, options: { readonly lesson: number }): State;
  /** The result of an action. It may change the given state and return it, or return another. */
  step(state: State, action: PerAgent<N, ValueIn<A>>, random: EnvironmentRandom): StepOutcome<State, N>;
  /** The observation of a state. It is copied. */
  observe(state: State): PerAgent<N, ValueFor<O>>;
  /** 1 or 0 for each choice, of all choices in a row, of all agents one after the other. It is copied. */
  actionMask?(state: State): ArrayLike<number | boolean>;
  draw?(state: State): Drawing;
}

/** An environment that knows its spaces' types. */
export interface TypedEnvironment<
  O extends Space = Space,
  A extends Space = Space,
  N extends number | undefined = undefined,
> extends Environment {
  readonly observationSpace: O;
  readonly actionSpace: A;
  reset(options?: ResetOptions): Reset<PerAgent<N, ValueIn<O>>>;
  step(action: PerAgent<N, ValueFor<A>>): Step<PerAgent<N, ValueIn<O>>, PerAgent<N, number>>;
}

/**
 * Makes an environment from functions of its state. The state is a plain tree (objects, lists, typed arrays, numbers),
 * so that saving, seeds and time limits need no code of yours: all random numbers have to come from `random`.
 * Observations, rewards and actions are copied and checked.
 *
 * @example
 * ```ts
 * const makeWalk = defineEnvironment({
 *   name: "Walk",
 *   observation: box({ shape: [1], low: -5, high: 5 }),
 *   action: discrete(2),
 *   timeLimit: 100,
 *   initial: (random) => ({ at: random.integer(3) - 1 }),
 *   step: ({ at }, action) => {
 *     const next = at + (action === 1 ? 1 : -1);
 *     return { state: { at: next }, reward: next === 5 ? 1 : 0, terminated: Math.abs(next) === 5 };
 *   },
 *   observe: ({ at }) => [at],
 * });
 * const environment = makeWalk();
 * ```
 */
export function defineEnvironment<
  State,
  const O extends Space,
  const A extends Space,
  const N extends number | undefined = undefined,
>(definition: Definition<State, O, A, N>): () => TypedEnvironment<O, A, N> {
  checkOptions(definition?.name || "defineEnvironment", definition, optionTable);
  // Values are checked when it runs, so that it need not know their types.
  const untyped: unknown = definition;
  return () =>
    new DefinedEnvironment(untyped as Definition<unknown>) as Environment as TypedEnvironment<O, A, N>;
}

type Values = SpaceValue | readonly SpaceValue[];

const outcomeFix = "let step return { state, reward, terminated }";

const spaceText = "a space: discrete(n), box({ shape }), ...";

const optionTable = {
  name: option.text({ required: true, doc: "The environment's name." }),
  observation: option.made<Space>(spaceText, isSpace, { required: true }),
  action: option.made<Space>(spaceText, isSpace, { required: true }),
  agents: option.integer({ min: 1, doc: "How many agents act at once." }),
  lessons: option.made<readonly string[]>(
    "a list of names, or nothing",
    (value) => Array.isArray(value) && value.length > 0,
    { doc: "Names of its lessons." },
  ),
  timeLimit: option.integer({ min: 1, doc: "Steps after which an episode is truncated." }),
  initial: option.function("a function", { required: true }),
  step: option.function("a function", { required: true }),
  observe: option.function("a function", { required: true }),
  actionMask: option.function("a function", {}),
  draw: option.function("a function", {}),
};

/** A definition with its state, random numbers and step count. */
class DefinedEnvironment implements Environment {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly agents?: number;
  readonly lessons?: readonly string[];
  readonly render?: () => Drawing;
  readonly #definition: Definition<unknown>;
  readonly #checks: Checks;
  readonly #random = new SeededRandom(0);
  readonly #limit: number;
  #state: unknown = null;
  #phase: "unborn" | "going" | "over" = "unborn";
  #steps = 0;

  constructor(definition: Definition<unknown>) {
    this.name = definition.name;
    this.observationSpace = definition.observation;
    this.actionSpace = definition.action;
    if (definition.agents !== undefined) this.agents = definition.agents;
    if (definition.lessons) this.lessons = definition.lessons;
    if (definition.draw) this.render = () => this.#draw();
    this.#definition = definition;
    this.#checks = checksOf(definition);
    this.#limit = definition.timeLimit ?? Number.POSITIVE_INFINITY;
  }

  reset({ seed, lesson = 0 }: ResetOptions = {}): Reset<Values> {
    const lessons = this.lessons?.length ?? 1;
    if (!Number.isInteger(lesson) || lesson < 0 || lesson >= lessons)
      throw badOption(
        this.name,
        `there is no lesson ${shown(lesson)}`,
        this.lessons
          ? `its lessons are 0 to ${lessons - 1}: ${this.lessons.join(", ")}`
          : "it has no lessons",
      );
    if (seed !== undefined) this.#random.seed(seed);
    const state = this.#definition.initial(this.#random, { lesson });
    if (isPromise(state) || state === undefined)
      throw this.#invalid(`initial gave ${kindOf(state)}`, "let initial return the state itself");
    this.#state = state;
    this.#steps = 0;
    this.#phase = "going";
    const observation = this.#checks.observation(this.#definition.observe(this.#state));
    const actionMask = this.#mask();
    return actionMask ? { observation, actionMask } : { observation };
  }

  step(action: Values): Step<Values, number | readonly number[]> {
    if (this.#phase !== "going") throw this.#notGoing();
    const outcome = this.#definition.step(
      this.#state,
      this.#checks.action(action) as ValueIn<Space>,
      this.#random,
    );
    if (outcome?.state === undefined) this.#checkOutcome(outcome);
    const { state, terminated, info } = outcome;
    const reward = this.#checks.reward(outcome.reward);
    if (typeof terminated !== "boolean")
      throw this.#invalid(
        `terminated is ${shown(terminated)}`,
        "let step return true or false: true if the episode is over",
      );
    this.#state = state;
    this.#steps++;
    const truncated = outcome.truncated === true || this.#steps >= this.#limit;
    if (terminated || truncated) this.#phase = "over";
    const observation = this.#checks.observation(this.#definition.observe(state));
    const actionMask = this.#mask();
    if (!actionMask && !info) return { observation, reward, terminated, truncated };
    return {
      observation,
      reward,
      terminated,
      truncated,
      ...(info && { info }),
      ...(actionMask && { actionMask }),
    };
  }

  getState(): StateTree {
    return {
      phase: this.#phase,
      steps: this.#steps,
      random: this.#random.getState(),
      state: copyState(this.#state, this.name),
    };
  }

  setState(state: StateTree): void {
    const given = state as { readonly [key: string]: StateTree | undefined } | null;
    const { phase, steps } = given ?? {};
    const isPhase = phase === "unborn" || phase === "going" || phase === "over";
    if (!isPhase || typeof steps !== "number" || given?.state === undefined)
      throw new EspalierError("STATE_INVALID", `this is not a state of ${this.name}`, {
        fix: "pass the result of getState() of the same environment",
      });
    this.#random.setState(given.random);
    this.#state = copyState(given.state, this.name);
    this.#phase = phase;
    this.#steps = steps;
  }

  #mask(): Uint8Array | undefined {
    const { actionMask } = this.#definition;
    return actionMask && this.#checks.mask(this.#definition.actionMask?.(this.#state) as Uint8Array);
  }

  #draw(): Drawing {
    if (this.#phase === "unborn") throw this.#notGoing();
    return this.#definition.draw?.(this.#state) as Drawing;
  }

  #notGoing(): EspalierError {
    const what = this.#phase === "over" ? "the episode is over" : "no episode has begun";
    return new EspalierError("ENVIRONMENT_NOT_RESET", `${this.name}: ${what}`, { fix: "call reset() first" });
  }

  /** Refuses an outcome without a state, unless the environment has none. */
  #checkOutcome(outcome: unknown): void {
    const kind = kindOf(outcome);
    if (kind === "an object" && this.#state === undefined) return;
    throw this.#invalid(`step gave ${kind === "an object" ? "no state" : kind}`, outcomeFix);
  }

  #invalid(what: string, fix: string): EspalierError {
    return new EspalierError("ENVIRONMENT_INVALID", `${this.name}: ${what}`, { fix });
  }
}

type Reward = number | readonly number[];

type Checks = ReturnType<typeof checksOfOne>;

type Checked = Pick<Definition<unknown>, "name" | "observation" | "action"> & {
  readonly agents?: number | undefined;
};

/** With `agents` a definition takes and returns lists. So does its caller, unless there is only one agent. */
function checksOf(definition: Checked): Checks {
  const one = checksOfOne(definition);
  const { agents, name } = definition;
  if (agents === undefined) return one;
  const each = <T, R>(
    what: string,
    list: T | readonly T[],
    code: string,
    check: (one: T) => R,
  ): readonly R[] => {
    if (Array.isArray(list) && list.length === agents) return (list as readonly T[]).map(check);
    throw new EspalierError(code, `${name}: ${shown(list)} is no list of ${agents} ${what}`, {
      fix: `give one for each of its ${agents} agents`,
    });
  };
  const observation = (seen: Values) =>
    each("observations", seen, "ENVIRONMENT_INVALID", one.observation) as readonly SpaceValue[];
  const reward = (paid: Reward) =>
    each("rewards", paid, "ENVIRONMENT_INVALID", one.reward) as readonly number[];
  const action = (taken: Values) =>
    each("actions", taken, "ACTION_INVALID", one.action) as readonly SpaceValue[];
  if (agents > 1) return { action, observation, reward, mask: one.mask };
  return {
    action: (taken) => action([taken as SpaceValue]),
    observation: (seen) => observation(seen)[0] as SpaceValue,
    reward: (paid) => reward(paid)[0] as number,
    mask: one.mask,
  };
}

/** Checks and copies the values that pass between a definition and its caller. */
function checksOfOne({ name, observation, action, agents = 1 }: Checked) {
  const badObservation: DefinitionFault = (why) =>
    new EspalierError("ENVIRONMENT_INVALID", `${name}: an observation is not of its space: ${why}`, {
      fix: "let observe return what the observation space describes, or describe what it returns",
    });
  const badAction: DefinitionFault = (why) =>
    new EspalierError("ACTION_INVALID", `${name}: an action is not of its space: ${why}`, {
      fix: "give an action that the action space describes",
    });
  return {
    action: (value: Values): Values => takeValue(action, value as SpaceValue, badAction),
    observation: (value: Values): Values => takeValue(observation, value as SpaceValue, badObservation),
    reward: (reward: Reward): Reward => {
      if (typeof reward === "number" && !Number.isNaN(reward)) return reward;
      throw new EspalierError("ENVIRONMENT_INVALID", `${name}: a reward is ${shown(reward)}`, {
        fix: "let step return a number as reward",
      });
    },
    mask: (allowed: ArrayLike<number | boolean>): Uint8Array => {
      const mask = Uint8Array.from(allowed, (one) => (one ? 1 : 0));
      if (mask.length === agents * choices(action)) return mask;
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${name}: the action mask has ${mask.length} entries, where ${agents * choices(action)} are expected`,
        { fix: "give one entry for every choice, of all choices in a row" },
      );
    },
  };
}

/** Makes the error about a value that is not in its space. */
type DefinitionFault = (why: string) => EspalierError;

/**
 * Copies a value to the type of its space: Float32Array for a box, Int32Array for several choices. The numbers of a box
 * are counted and must not be NaN. Bounds are not checked: environments clip actions, and `checkEnvironment` looks at
 * observations.
 */
function takeValue(space: Space, value: SpaceValue, fault: DefinitionFault): SpaceValue {
  switch (space.kind) {
    case "discrete":
      if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < space.n) return value;
      throw fault(whyOutside(space, value) as string);
    case "box":
      return takeNumbers(value as Numbers, boxSize(space), fault);
    case "multiDiscrete": {
      const why = whyOutside(space, value);
      if (why !== undefined) throw fault(why);
      return Int32Array.from(value as Numbers);
    }
    case "dict": {
      const parts: Record<string, SpaceValue> = {};
      for (const name of partNames(space)) {
        const part = (value as Readonly<Record<string, SpaceValue>> | null | undefined)?.[name];
        if (part === undefined) throw fault(`"${name}" is missing`);
        parts[name] = takeValue(partOf(space, name), part, fault);
      }
      return parts;
    }
  }
}

function takeNumbers(given: Numbers | null | undefined, size: number, fault: DefinitionFault): Float32Array {
  if (given?.length === undefined) throw fault(`it is ${kindOf(given)}, where ${size} numbers are expected`);
  if (Array.isArray(given[0]) || ArrayBuffer.isView(given[0]))
    throw fault(`it is a list of lists, where ${size} flat numbers are expected, one row after the other`);
  if (given.length !== size) throw fault(`it has ${given.length} numbers, where ${size} are expected`);
  const taken = new Float32Array(size);
  for (let i = 0; i < size; i++) {
    const number: unknown = given[i];
    // null and "1" would become numbers.
    if (typeof number !== "number" || Number.isNaN(number)) throw fault(`it is ${shown(number)} at ${i}`);
    taken[i] = number;
  }
  return taken;
}
