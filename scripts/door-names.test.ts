import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { root } from "./compiler-options.ts";

const doors = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
const fileOf = (door: string): string =>
  join(root, "src", door === "." ? "index.ts" : `doors/${door.slice(2)}.ts`);

/** The names that a door gives, which are all written in its file: types too, which nothing at run time shows. */
function namesOf(door: string): readonly string[] {
  const text = readFileSync(fileOf(door), "utf8");
  const listed = [...text.matchAll(/^export \{([^}]*)\} from/gm)].flatMap(([, list = ""]) =>
    list.split(",").map((item) => item.trim().replace(/^type /, "")),
  );
  return [...listed, ...[...text.matchAll(/^export \* as (\w+)/gm)].map(([, name = ""]) => name)].filter(
    Boolean,
  );
}

describe("doors", () => {
  it.each(doors)("%s lists its names one by one", (door) => {
    expect(readFileSync(fileOf(door), "utf8")).not.toMatch(/^export \* from/m);
    expect(namesOf(door).length).toBeGreaterThan(5);
  });

  it("have each name once among them, but for evaluationHook", () => {
    const names = doors.flatMap(namesOf);
    // A trainer's plays suites of environments (espalier/rl); a worker's asks its generator, as document 002 has it.
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual(["evaluationHook"]);
  });

  it("the front one has what a first program needs, and no more", () => {
    const front = namesOf(".");
    expect(front.length).toBeLessThanOrEqual(150);
    const first = [
      "Trainer",
      "compile",
      "np",
      "nn",
      "optim",
      "random",
      "every",
      "cosine",
      "periodicHook",
      "slot",
    ];
    expect(front).toEqual(
      expect.arrayContaining([...first, "Logger", "consoleSink", "checkpointHook", "asLoss"]),
    );
  });
});
