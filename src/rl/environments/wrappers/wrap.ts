import { badOption, checkNames, checkSize, EspalierError, shown } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import { boundAt, box, boxSize, choices, type Space, type SpaceValue } from "../../spaces/space.ts";
import { type Environment, type Reset, type ResetOptions, type Step, stateOf } from "../environment.ts";

export type Seen = Reset<SpaceValue | readonly SpaceValue[]>;
export type Stepped = Step<SpaceValue | readonly SpaceValue[], number | readonly number[]>;
export type Action = SpaceValue | readonly SpaceValue[];

/** The changes that a wrapper makes. Everything else stays as it is. */
export interface Wrapping {
  readonly observationSpace?: Space;
  readonly actionSpace?: Space;
  /** Changes the result of the inner environment. */
  reset?(seen: Seen): Seen;
  step?(stepped: Stepped): Stepped;
  /** Changes the action for the inner environment. */
  act?(action: Action): Action;
  /** The wrapper's own state. */
  readonly memory?: { getState(): StateTree; setState(state: StateTree): void };
}

const names = ["observationSpace", "actionSpace", "reset", "step", "act", "memory"];

/**
 * Wraps an environment. The state is that of the inner environment together with the wrapper's `memory`.
 *
 * @example
 * ```ts
 * const halved = wrap(environment, {
 *   step: (stepped) => ({ ...stepped, reward: (stepped.reward as number) / 2 }),
 * });
 * ```
 */
export function wrap(inner: Environment, wrapping: Wrapping): Environment {
  checkNames("wrap", wrapping, names);
  const { memory } = wrapping;
  const { render } = inner;
  return {
    name: inner.name,
    observationSpace: wrapping.observationSpace ?? inner.observationSpace,
    actionSpace: wrapping.actionSpace ?? inner.actionSpace,
    ...(inner.agents !== undefined && { agents: inner.agents }),
    ...(inner.lessons && { lessons: inner.lessons }),
    reset(options?: ResetOptions) {
      const seen = inner.reset(options);
      return wrapping.reset ? wrapping.reset(seen) : seen;
    },
    step(action) {
      const stepped = inner.step(wrapping.act ? wrapping.act(action) : action);
      return wrapping.step ? wrapping.step(stepped) : stepped;
    },
    getState: () => (memory ? { inner: stateOf(inner), memory: memory.getState() } : stateOf(inner)),
    setState(state) {
      if (!memory) return inner.setState(state);
      const given = state as { readonly inner?: StateTree; readonly memory?: StateTree } | null;
      if (given?.inner === undefined || given.memory === undefined)
        throw new EspalierError(
          "STATE_INVALID",
          `${inner.name}: ${shown(state)} is no state of this wrapper`,
          { fix: "pass the result of getState() of the same wrappers in the same order" },
        );
      memory.setState(given.memory);
      inner.setState(given.inner);
    },
    ...(render && { render: () => render.call(inner) }),
    ...(inner.close && { close: () => inner.close?.() }),
  };
}

/** Applies `change` to each agent's part, or to the value itself if there is one agent. */
export function forAgents<T, R>(
  { agents = 1 }: Environment,
  parts: T | readonly T[],
  change: (part: T, agent: number) => R,
): R | readonly R[] {
  return agents === 1 ? change(parts as T, 0) : (parts as readonly T[]).map(change);
}

/** The error about a space that a wrapper cannot take. */
export const unfit = (wrapper: string, inner: Environment, what: string, space: Space): EspalierError =>
  new EspalierError(
    "SPACE_UNSUPPORTED",
    `${wrapper}: the ${what} of ${inner.name} are ${space.kind}, no box`,
    {
      fix: `use ${wrapper} with environments whose ${what} are a box`,
    },
  );

/**
 * Truncates episodes after a number of steps.
 *
 * @example
 * ```ts
 * const short = timeLimit(makeEnvironment("CartPole-v1"), 100);
 * ```
 */
export function timeLimit(environment: Environment, steps: number): Environment {
  checkSize("timeLimit", "steps", steps);
  let taken = 0;
  return wrap(environment, {
    reset(seen) {
      taken = 0;
      return seen;
    },
    step(stepped) {
      taken++;
      return taken >= steps && !stepped.truncated ? { ...stepped, truncated: true } : stepped;
    },
    memory: {
      getState: () => taken,
      setState(state) {
        taken = state as number;
      },
    },
  });
}

/**
 * Adds action masks to an environment: `allowed` returns 1 or 0 for each choice, of all choices in a row, of all agents
 * one after the other.
 *
 * @example
 * ```ts
 * const environment = maskActions(inner, () => [true, !board.isFull()]);
 * ```
 */
export function maskActions<E extends Environment>(
  environment: E,
  allowed: (inner: E) => ArrayLike<number | boolean>,
): Environment {
  const size = choices(environment.actionSpace) * (environment.agents ?? 1);
  const masked = <T extends Seen>(seen: T): T => {
    const given = allowed(environment);
    if (given?.length !== size)
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${environment.name}: the action mask has ${given?.length ?? "no"} entries, where ${size} are expected`,
        { fix: "give 1 or 0 for every choice, of all choices in a row" },
      );
    return { ...seen, actionMask: Uint8Array.from(given, (one) => (one ? 1 : 0)) };
  };
  return wrap(environment, { reset: masked, step: masked });
}

/** Bounds, at least one of them. */
export interface ClipOptions {
  readonly low?: number;
  readonly high?: number;
}

function boundsOf(kind: string, { low = -Infinity, high = Infinity }: ClipOptions) {
  if (low <= high && (low > -Infinity || high < Infinity)) return { low, high };
  throw badOption(kind, `low is ${low} and high is ${high}`, "give at least one bound, low not above high");
}

const clip = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);

/**
 * Clips actions to the bounds of the action space, as Gymnasium's ClipAction does.
 *
 * @example
 * ```ts
 * clipActions(makeEnvironment("Pendulum-v1")).actionSpace; // a box without bounds
 * ```
 */
export function clipActions(environment: Environment): Environment {
  const space = environment.actionSpace;
  if (space.kind !== "box") throw unfit("clipActions", environment, "actions", space);
  const clipped = (action: ArrayLike<number>): Float32Array =>
    Float32Array.from(action, (x, i) => clip(x, boundAt(space.low, i), boundAt(space.high, i)));
  return wrap(environment, {
    actionSpace: box({ shape: space.shape }),
    act: (action) => forAgents(environment, action as Float32Array, clipped),
  });
}

/**
 * Clips rewards.
 *
 * @example
 * ```ts
 * const environment = clipRewards(makeEnvironment("Pendulum-v1"), { low: -1, high: 1 });
 * ```
 */
export function clipRewards(environment: Environment, options: ClipOptions): Environment {
  const { low, high } = boundsOf("clipRewards", options);
  return wrap(environment, {
    step: (stepped) => ({
      ...stepped,
      reward: forAgents(environment, stepped.reward, (paid) => clip(paid, low, high)),
    }),
  });
}

/**
 * Clips observations. After `normalizeObservations` it keeps rare values from being huge.
 *
 * @example
 * ```ts
 * const environment = clipObservations(normalizeObservations(inner), { low: -10, high: 10 });
 * ```
 */
export function clipObservations(environment: Environment, options: ClipOptions): Environment {
  const { low, high } = boundsOf("clipObservations", options);
  const space = environment.observationSpace;
  if (space.kind !== "box") throw unfit("clipObservations", environment, "observations", space);
  const bounds = (of: number | readonly number[]): number[] =>
    Array.from({ length: boxSize(space) }, (_, i) => clip(boundAt(of, i), low, high));
  const clipped = <T extends Seen>(seen: T): T => ({
    ...seen,
    observation: forAgents(environment, seen.observation as Float32Array, (numbers: Float32Array) =>
      Float32Array.from(numbers, (x) => clip(x, low, high)),
    ),
  });
  return wrap(environment, {
    observationSpace: box({ shape: space.shape, low: bounds(space.low), high: bounds(space.high) }),
    reset: clipped,
    step: clipped,
  });
}
