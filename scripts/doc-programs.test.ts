import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { brokenLinks, programsIn } from "./doc-programs.ts";

describe("programs of documents", () => {
  it("are found in the README and in every guide, and import nothing but packages", () => {
    const pages =
      "checkpoints data engines hooks logging losses math models reinforcement rollout-workers schedules supervised trainer";
    for (const page of ["README.md", ...pages.split(" ").map((name) => `docs/${name}.md`)]) {
      const programs = programsIn(page);
      expect(programs.length, page).toBeGreaterThan(0);
      for (const { name, source } of programs) expect(source, name).toMatch(/^import /m);
      for (const { name, source } of programs) expect(source, name).not.toMatch(/from "\./);
    }
  });
});

describe("links of documents", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "espalier-links-"));
    mkdirSync(join(folder, "docs"));
    writeFileSync(join(folder, "docs/a.md"), "# What is exact?\n[up](../README.md) [here](#what-is-exact)");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("that lead to files, folders, headings and other hosts are whole", () => {
    writeFileSync(
      join(folder, "README.md"),
      "[a](docs/a.md#what-is-exact) [d](docs/) [h](https://example.com/x)",
    );
    expect(brokenLinks(folder)).toEqual([]);
  });

  it("that lead nowhere are named with their document", () => {
    writeFileSync(join(folder, "README.md"), "[a](docs/b.md) [b](docs/a.md#gone)");
    expect(brokenLinks(folder)).toEqual(["README.md: docs/b.md", "README.md: docs/a.md#gone"]);
  });
});
