import { describe, expect, it } from "vitest";
import { programsIn, runPrograms, typeErrors } from "./doc-programs.ts";

const [example, agent] = programsIn("README.md", "ts");

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

describe("the README's agent", () => {
  if (!agent) throw new Error("the README has no agent");

  it("balances to the end and acts, as it says", () => {
    const [mean, choice] = runPrograms([agent]).trim().split("\n");
    expect(Number(mean)).toBeGreaterThanOrEqual(475);
    expect(choice).toBe("1");
  }, 240_000);

  it("compiles", () => {
    expect(typeErrors([agent])).toEqual([]);
  });
});
