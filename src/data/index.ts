/** Examples on a device, and the order in which they come. */
export {
  type ArrayInput,
  type ArrayTree,
  type ExampleTree,
  hostArrays,
  isIntegers,
  type PlacedArrays,
  type Placement,
  placeArrays,
  type ShapedArray,
  type TensorTree,
} from "./arrays.ts";
export { type BatchGroup, Loader, type LoaderOptions } from "./loader.ts";
