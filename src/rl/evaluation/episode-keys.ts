import { hostRandom } from "../../engine/index.ts";

const { hostBits, hostFoldIn, hostKey } = hostRandom;

/** Where the random numbers of an episode come from: the seed and the episode's number, and nothing else. */
export interface EpisodeKeys {
  /** What the environment is reset with. */
  readonly seed: number;
  /** The two words from which an agent's action at a step is drawn. */
  action(step: number, agent: number): Uint32Array;
}

export function episodeKeys(seed: number, episode: number): EpisodeKeys {
  const root = hostFoldIn(hostKey(seed), episode);
  const actions = hostFoldIn(root, 1);
  return {
    // Below 2^31, as every environment takes it.
    seed: (hostBits(hostFoldIn(root, 0), 1)[0] as number) >>> 1,
    action: (step, agent) => hostFoldIn(hostFoldIn(actions, step), agent),
  };
}
