import type { Reference } from "../sample.ts";
import { elementwiseReferences } from "./elementwise.ts";
import { indexingReferences } from "./indexing.ts";
import { productReferences } from "./products.ts";
import { randomReferences } from "./random.ts";
import { reduceReferences } from "./reduce.ts";
import { shapeReferences } from "./shape.ts";

/** What each row of the op table gives, written out in plain TypeScript. */
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
