import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { figures, sideBySide } from "./coming-from.ts";
import { benchmarksPage } from "./harness/folders.ts";

const page = readFileSync(join(dirname(benchmarksPage()), "coming-from.md"), "utf8");

describe("the programs of docs/coming-from.md", () => {
  it("are all run: each of theirs stands beside one of ours", () => {
    const found = sideBySide(page);
    expect(found.map(({ title }) => title)).toEqual([
      "Lightning",
      "Keras",
      "Stable-Baselines3",
      "A hand-written loop",
    ]);
    expect(found).toHaveLength([...page.matchAll(/^```python$/gm)].length);
    expect(figures).toHaveLength(2 * found.length);
  });

  it("are taken as they stand", () => {
    expect(
      sideBySide("# A\n## B\n```python\n1\n```\n```ts run\n2\n3\n```\n## C\n```python\n4\n```\n"),
    ).toEqual([{ title: "B", python: "1\n", ours: "2\n3\n" }]);
  });
});
