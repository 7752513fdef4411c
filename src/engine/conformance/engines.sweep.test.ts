import { describe, it } from "vitest";
import { inSample } from "../../sweep.test-support.ts";
import { sweepEngines, testEngines } from "../run/engines.test-support.ts";
import { engineConformance } from "./conformance.test-support.ts";

/** The sample holds all cases of wasm by itself, and every 29th of xla, which compiles each for a tenth of a second. */
const sampled = (engine: string, i: number): boolean => engine === "wasm" || i % 29 === 0;

describe.each(inSample ? testEngines() : sweepEngines())("conformance of %s", (engine) => {
  engineConformance({ engine }).forEach(({ name, run }, i) => {
    if (sampled(engine, i) === inSample) it(name, run);
  });

  if (inSample) return;
  describe("and of wasm: the same numbers", () => {
    for (const { name, run } of engineConformance({ engine: "wasm", reference: engine }))
      if (/: (values|derivatives)$/.test(name)) it(name, run);
  });
});
