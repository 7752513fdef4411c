/** What actions and observations are, and how they travel as rows of numbers. */
export { contains, whyOutside } from "./contains.ts";
export { readAction, writeAction, writeFlat } from "./flat.ts";
export { type BoxOptions, boundAt, box, dict, discrete, multiDiscrete } from "./make.ts";
export { partsOf } from "./parts.ts";
export { sampleSpace } from "./sample.ts";
export { actionSize, choices, flatSize } from "./sizes.ts";
export type { Box, Dict, Discrete, MultiDiscrete, Space, SpaceValue } from "./space.ts";
export type { PartsOf, ValueFor, ValueIn } from "./values.ts";
