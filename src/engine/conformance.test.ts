import { describe, it } from "vitest";
import { engineConformance } from "../testing/index.ts";
import { testEngines } from "./run/engines.test-support.ts";

const engines = testEngines();

describe.each(engines)("conformance of %s", (engine) => {
  const other = engine === "wasm" && engines.includes("xla") ? ({ reference: "xla" } as const) : {};
  for (const { name, run } of engineConformance({ engine, ...other })) it(name, run);
});
