import { describe, expect, it } from "vitest";
import { programsIn, runPrograms, typeErrors } from "./doc-programs.ts";

const [example] = programsIn("README.md", "ts");

describe("the README's first example", () => {
  if (!example) throw new Error("the README has no example");

  it("runs as it stands, and learns", () => {
    const lines = runPrograms([example]).trim().split("\n");
    expect(lines.map((line) => line.split(" ")[0])).toEqual(["100", "200", "300", "400", "completed"]);
    const losses = lines.map((line) => Number(line.split(" ")[1]));
    expect(losses[0]).toBeGreaterThan(losses[1] as number);
    expect(losses.at(-1)).toBeLessThan(0.01);
  });

  it("compiles", () => {
    expect(typeErrors([example])).toEqual([]);
  });
});
