import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { programsIn, runPrograms } from "../../scripts/doc-programs.ts";

const text = readFileSync(new URL("../../docs/hooks.md", import.meta.url), "utf8");

describe("docs/hooks.md", () => {
  it("shows what its programs print", () => {
    const shown = [...text.matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(([, block]) => block as string);
    expect(shown).toHaveLength(2);
    expect(runPrograms(programsIn("docs/hooks.md", "ts run"))).toBe(shown.join(""));
  });
});
