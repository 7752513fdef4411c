import type { SampleMaker } from "../sampler.test-support.ts";
import { indexingSamples, partSamples, shapeSamples } from "./arrays.test-support.ts";
import { binarySamples, conversionSamples, randomSamples, unarySamples } from "./elementwise.test-support.ts";
import { poolSamples, productSamples, reduceSamples } from "./reductions.test-support.ts";

/** Makers of inputs for each row of the op table. */
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
