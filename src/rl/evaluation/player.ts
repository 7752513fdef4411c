import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Policy } from "../policies/policy.ts";

/**
 * What plays episodes: a policy, and the components of a run whose states it needs for that: `params`, and
 * `normalizer` where observations are normalised.
 *
 * @example
 * ```ts
 * const { components } = await task.snapshot(task.player.reads);
 * const episodes = await playEpisodes({ player: task.player, state: components, environment: "CartPole-v1", episodes: 20, seed: 0 });
 * ```
 */
export interface Player {
  readonly policy: Policy;
  readonly reads: readonly string[];
}

/** The states of components, by name: of a snapshot, or read from a checkpoint. */
export type PlayerState = Readonly<Record<string, StateTree>>;

/** The component with the moments that observations are normalised by: `{ mean, variance, count }`. */
export const normalizer = "normalizer";

/** Refuses a state that lacks what the player reads. */
export function checkState({ reads }: Player, state: PlayerState): void {
  for (const name of reads)
    if (!Object.hasOwn(state, name))
      throw new EspalierError("COMPONENT_UNKNOWN", `the player reads "${name}", which the state lacks`, {
        fix: `the state has ${Object.keys(state).join(", ") || "nothing"}: take snapshot(player.reads)`,
      });
}
