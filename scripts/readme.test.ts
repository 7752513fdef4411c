import { describe, expect, it } from "vitest";
import { programsIn, runPrograms, typeErrors } from "./doc-programs.ts";

const [example] = programsIn("README.md", "ts");

describe("the README's first example", () => {
  if (!example) throw new Error("the README has no example");

  it("runs as it stands, and learns", () => {
    const losses = runPrograms([example])
      .trim()
      .split("\n")
      .map((line) => Number(line.split(" ")[1]));
    expect(losses).toHaveLength(5);
    expect(losses[0]).toBeGreaterThan(0.6);
    expect(losses.at(-1)).toBeLessThan(0.01);
  });

  it("compiles", () => {
    expect(typeErrors([example])).toEqual([]);
  });
});
