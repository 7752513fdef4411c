import type { Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Space } from "../spaces/space.ts";

/**
 * An environment as pure functions of traced values, written for one environment: it runs inside the compiled program,
 * many at a time by `vmap`. The program that runs it decides when to reset. `S` is its state, a plain tree of values,
 * written with `type`, because an `interface` has no index signature.
 *
 * @example
 * ```ts
 * type State = { readonly at: Value };
 * const corridor: CompiledEnvironment<State> = { name: "Corridor", observationSpace, actionSpace, reset, step, observe };
 * registerEnvironment("Corridor", { make: makeCorridor, compiled: () => corridor });
 * ```
 */
export interface CompiledEnvironment<S extends Named = Named> {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** With several, observations, rewards and actions have a first axis of agents. Default: 1. */
  readonly agents?: number;
  readonly lessons?: readonly string[];
  /** The first state of an episode. `lesson` is an i32 scalar. */
  reset(key: Value, lesson: Value): S;
  /**
   * `action` is f32 [flat size of the action space], whole numbers where the space has whole numbers. `reward` is f32,
   * `terminated` and `truncated` are booleans, all scalars.
   */
  step(
    state: S,
    action: Value,
    key: Value,
  ): {
    readonly state: S;
    readonly reward: Value;
    readonly terminated: Value;
    readonly truncated: Value;
  };
  /** f32 [flat size of the observation space]. */
  observe(state: S): Value;
  /** Allowed actions, booleans [choices], if not all are always allowed. */
  actionMask?(state: S): Value;
}
