import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { root } from "./compiler-options.ts";
import { errorsPage } from "./docs-errors.ts";

const page = errorsPage();

it("docs/errors.md has every code of the sources: npx tsx scripts/docs-errors.ts writes it", () => {
  expect(readFileSync(`${root}docs/errors.md`, "utf8")).toBe(page);
});

it("finds codes wherever they are given, and says something of each", () => {
  const some = ["SHAPE_MISMATCH", "OPTION_INVALID", "HOOK_FAILED", "STORE_FULL", "CONFIG_SYNTAX"];
  expect(some.filter((code) => !page.includes(`| \`${code}\` | `))).toEqual([]);
  expect([...page.matchAll(/^\| `(\w+)` \|\s+\|/gm)].map(([, code]) => code)).toEqual([]);
});
