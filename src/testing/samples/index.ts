import type { SampleMaker } from "../sample.ts";
import { binarySamples } from "./binary.ts";
import { conversionSamples } from "./conversion.ts";
import { indexingSamples } from "./indexing.ts";
import { partSamples } from "./parts.ts";
import { poolSamples } from "./pool.ts";
import { productSamples } from "./products.ts";
import { randomSamples } from "./random.ts";
import { reduceSamples } from "./reduce.ts";
import { shapeSamples } from "./shape.ts";
import { unarySamples } from "./unary.ts";

/** How to make inputs for each row of the op table. */
export const samples: ReadonlyMap<string, SampleMaker> = new Map(
  [
    unarySamples,
    binarySamples,
    shapeSamples,
    partSamples,
    conversionSamples,
    reduceSamples,
    productSamples,
    poolSamples,
    indexingSamples,
    randomSamples,
  ].flatMap((family) => Object.entries(family)),
);

/** Rows that take functions or stand for nothing by themselves, and where they are checked instead. */
export const elsewhere: ReadonlyMap<string, string> = new Map([
  ["placeholder", "stands for inputs, which every case has"],
  ["scan", "cases named scan"],
  ["whileLoop", "cases named whileLoop"],
  ["switch", "cases named cond and switch"],
  ["call", "cases named remat and customGradient"],
  ["withDerivative", "cases named withDerivative"],
]);
