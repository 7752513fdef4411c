import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { testEngines } from "../src/engine/run/engines.test-support.ts";
import { root } from "./compiler-options.ts";
import { programsIn, runPrograms, typeErrors } from "./doc-programs.ts";

/** Guides whose programs readers copy: blocks marked "ts run". */
const guides = readdirSync(join(root, "docs"))
  .filter((file) => file.endsWith(".md"))
  .map((file) => ({ file, programs: programsIn(`docs/${file}`, "ts run") }))
  .filter(({ programs }) => programs.length > 0);

it("is about these guides", () => {
  expect(guides.map(({ file }) => file)).toEqual(
    expect.arrayContaining([
      "hooks.md",
      "logging.md",
      "losses.md",
      "models.md",
      "reinforcement.md",
      "schedules.md",
      "supervised.md",
      "trainer.md",
    ]),
  );
});

/** Agents that learn take their time, and their programs are compiled. */
const patience = { timeout: 300_000 };

describe.each(guides)("the programs of docs/$file", patience, ({ programs }) => {
  it.each(testEngines())("run on %s and come to what they promise", (engine) => {
    runPrograms(programs, { ESPALIER_ENGINE: engine });
  });

  it("compile", () => {
    expect(typeErrors(programs)).toEqual([]);
  });
});
