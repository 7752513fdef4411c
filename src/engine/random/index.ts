export { exponential, gumbel, laplace, normal, truncatedNormal } from "./continuous.ts";
export { bernoulli, type CategoricalOptions, categorical, rademacher } from "./discrete.ts";
export { foldIn, type Key, key, split, splitKeys } from "./key.ts";
export { permutation, type ShuffleOptions, shuffle } from "./permutation.ts";
export {
  bits,
  type FloatOptions,
  type RandintOptions,
  type RandomFloat,
  randint,
  type UniformOptions,
  uniform,
} from "./uniform.ts";
