import type { Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Space } from "../spaces/space.ts";

/**
 * An environment as pure functions of values, for one environment: it runs inside the compiled program, many at a time
 * by `vmap`. It says nothing of resetting: the program that runs it does that. `S` is its state, a plain tree of values;
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
  /** 1 unless given. With several, observations and rewards have a first axis of agents, and so have actions. */
  readonly agents?: number;
  readonly lessons?: readonly string[];
  /** The state in which an episode begins. `lesson` is an i32 scalar. */
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
  /** Booleans [choices], where not all actions are always allowed. */
  actionMask?(state: S): Value;
}
