import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { catalogEntries, runTable } from "../src/config/index.ts";
import { optionsOf } from "../src/core/index.ts";
import { root } from "./compiler-options.ts";

const text = readFileSync(`${root}docs/configuration.md`, "utf8");

/** The section of a heading, up to the next one. */
const section = (heading: string): string => text.split(`\n${heading}\n`)[1]?.split(/\n#+ /)[0] ?? "";

it("docs/configuration.md has every name and option: npx tsx scripts/docs-configuration.ts writes them", async () => {
  const missing: string[] = [];
  const check = (heading: string, options: readonly string[]): void => {
    const found = section(heading);
    if (found === "") missing.push(heading);
    missing.push(
      ...options.filter((name) => !found.includes(`| \`${name}\` |`)).map((name) => `${heading} ${name}`),
    );
  };
  check("### The run", Object.keys(runTable));
  for (const { name, load } of catalogEntries()) {
    const maker = await load();
    const options = typeof maker === "function" ? optionsOf(maker as () => unknown) : undefined;
    check(`#### ${name}`, Object.keys(options ?? {}));
  }
  expect(missing).toEqual([]);
  const names = new Set(catalogEntries().map(({ name }) => name));
  const headings = [...text.matchAll(/^#### (\w+)$/gm)].map(([, name = ""]) => name);
  expect(headings.filter((name) => !names.has(name))).toEqual([]);
});
