import type { Reference } from "../sampler.test-support.ts";
import { indexingReferences, shapeReferences } from "./arrays.test-support.ts";
import { elementwiseReferences, randomReferences } from "./elementwise.test-support.ts";
import { productReferences, reduceReferences } from "./reductions.test-support.ts";

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
