import { hostRandom } from "../../engine/index.ts";

const { hostBits, hostFoldIn, hostKey } = hostRandom;

/**
 * The seed with which an environment of a vector begins: from the vector's seed, the environment's index, and how
 * often it has been made anew. Each of them changes it altogether.
 */
export const environmentSeed = (seed: number, index: number, restarts: number): number =>
  hostBits(hostFoldIn(hostFoldIn(hostKey(seed), index), restarts), 1)[0] as number;
