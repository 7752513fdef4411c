import { checkNames, EspalierError, shown } from "../../../core/index.ts";
import type { StateTree } from "../../../state/index.ts";
import type { Space, SpaceValue } from "../../spaces/space.ts";
import type { Environment, Reset, ResetOptions, Step } from "../environment.ts";
import { stateOf } from "../given.ts";

export type Seen = Reset<SpaceValue | readonly SpaceValue[]>;
export type Stepped = Step<SpaceValue | readonly SpaceValue[], number | readonly number[]>;
export type Action = SpaceValue | readonly SpaceValue[];

/** What a wrapper changes. What it leaves out stays as it is. */
export interface Wrapping {
  readonly observationSpace?: Space;
  readonly actionSpace?: Space;
  /** Given what the inner environment gave, gives what is to be seen of it. */
  reset?(seen: Seen): Seen;
  step?(stepped: Stepped): Stepped;
  /** The action that the inner environment is given. */
  act?(action: Action): Action;
  /** What it remembers, if it does. */
  readonly memory?: { getState(): StateTree; setState(state: StateTree): void };
}

const names = ["observationSpace", "actionSpace", "reset", "step", "act", "memory"];

/**
 * An environment around another. Its state is the other's and what the wrapper remembers.
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
          {
            fix: "pass what getState() of the same wrappers in the same order gave",
          },
        );
      memory.setState(given.memory);
      inner.setState(given.inner);
    },
    ...(inner.render && { render: () => inner.render?.() as never }),
    ...(inner.close && { close: () => inner.close?.() }),
  };
}

/** Does something for each agent's part: to the thing itself where there is one agent. */
export function forAgents<T, R>(
  { agents = 1 }: Environment,
  parts: T | readonly T[],
  change: (part: T, agent: number) => R,
): R | readonly R[] {
  return agents === 1 ? change(parts as T, 0) : (parts as readonly T[]).map(change);
}

/** An error for a space that a wrapper has no use for. */
export const unfit = (wrapper: string, inner: Environment, what: string, space: Space): EspalierError =>
  new EspalierError(
    "SPACE_UNSUPPORTED",
    `${wrapper}: the ${what} of ${inner.name} are ${space.kind}, no box`,
    {
      fix: `use ${wrapper} with environments whose ${what} are a box`,
    },
  );
