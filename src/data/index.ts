/** Where examples are and in which order they come. */
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
export { Loader, type LoaderOptions, type Run } from "./loader.ts";
