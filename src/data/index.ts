/** Examples on a device, and the order in which they come. */
export {
  type ArrayTree,
  type ExampleTree,
  hostArrays,
  isIntegers,
  type Placement,
  placeArrays,
  type TensorTree,
} from "./arrays.ts";
export { type BatchGroup, Loader, type LoaderOptions } from "./loader.ts";
