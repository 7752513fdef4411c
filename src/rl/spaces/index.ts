/** Spaces: what actions and observations are, and how they travel as rows of numbers. */
export { contains, whyOutside } from "./contains.ts";
export { readAction, writeAction, writeFlat } from "./flat.ts";
export { sampleSpace } from "./sample.ts";
export {
  actionSize,
  type Box,
  boundAt,
  box,
  choices,
  type Dict,
  type Discrete,
  dict,
  discrete,
  flatSize,
  type MultiDiscrete,
  multiDiscrete,
  type Space,
  type SpaceValue,
  type ValueFor,
  type ValueIn,
} from "./space.ts";
