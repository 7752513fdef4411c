import type { Reference } from "../sampler.ts";
import { indexingReferences, shapeReferences } from "./arrays.ts";
import { elementwiseReferences, randomReferences } from "./elementwise.ts";
import { productReferences, reduceReferences } from "./reductions.ts";

/** Each row of the op table, written out in plain TypeScript. */
export const references: ReadonlyMap<string, Reference> = new Map(
  [
    elementwiseReferences,
    shapeReferences,
    reduceReferences,
    productReferences,
    indexingReferences,
    randomReferences,
  ].flatMap((family) => Object.entries(family)),
);
