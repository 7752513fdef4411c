import { describe, it } from "vitest";
import { engineConformance } from "../testing/index.ts";
import { testEngines } from "./run/engines.test-support.ts";
import "./ops/convolution.ts";
import "./ops/pool.ts";
import "./ops/sort.ts";
import "./ops/cumulative.ts";
import "./ops/dynamic.ts";
import "./ops/threefry.ts";
import "./np/with-derivative.ts";

const engines = testEngines();

describe.each(engines)("conformance of %s", (engine) => {
  const other = engine === "wasm" && engines.includes("xla") ? ({ reference: "xla" } as const) : {};
  for (const { name, run } of engineConformance({ engine, ...other })) it(name, run);
});
