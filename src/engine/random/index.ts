export { exponential, gumbel, laplace, normal, truncatedNormal } from "./continuous.ts";
export type { CategoricalOptions, RandintOptions } from "./discrete.ts";
export { bernoulli, categorical, rademacher, randint } from "./discrete.ts";
export type { Key, Keys } from "./key.ts";
export { foldIn, key, split, splitKeys } from "./key.ts";
export type { ShuffleOptions } from "./permutation.ts";
export { permutation, shuffle } from "./permutation.ts";
export type { FloatOptions, RandomFloat, UniformOptions } from "./uniform.ts";
export { bits, uniform } from "./uniform.ts";
