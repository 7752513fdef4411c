import type { Value } from "../../engine/index.ts";
import type { Box, Dict, Discrete, MultiDiscrete, Space, SpaceValue } from "./space.ts";

/** What Espalier gives for a space: what `readAction` reads and `sampleSpace` draws. */
export type ValueIn<S extends Space> = S extends Discrete
  ? number
  : S extends MultiDiscrete
    ? Int32Array
    : S extends Box
      ? Float32Array
      : S extends Dict
        ? { readonly [K in keyof S["spaces"]]: ValueIn<S["spaces"][K]> }
        : SpaceValue;

/** What may be given for a space: whole numbers and numbers as any list. */
export type ValueFor<S extends Space> = S extends Discrete
  ? number
  : S extends MultiDiscrete | Box
    ? Float32Array | Int32Array | readonly number[]
    : S extends Dict
      ? { readonly [K in keyof S["spaces"]]: ValueFor<S["spaces"][K]> }
      : SpaceValue;

/** The traced parts of a space: values by name, where it has names. */
export type PartsOf<S extends Space> = S extends Dict
  ? { readonly [K in keyof S["spaces"]]: PartsOf<S["spaces"][K]> }
  : Value;
