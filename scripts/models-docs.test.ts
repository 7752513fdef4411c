import { describe, expect, it } from "vitest";
import { testEngines } from "../src/engine/run/engines.test-support.ts";
import { programsIn, runPrograms, typeErrors } from "./doc-programs.ts";

describe("the programs of docs/models.md", () => {
  const programs = programsIn("docs/models.md", "ts run");

  it("are there", () => {
    expect(programs.length).toBeGreaterThanOrEqual(2);
  });

  it.each(testEngines())("run on %s and come to what they promise", (engine) => {
    runPrograms(programs, { ESPALIER_ENGINE: engine });
  });

  it("compile", () => {
    expect(typeErrors(programs)).toEqual([]);
  });
});
