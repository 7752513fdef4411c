import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { root } from "./compiler-options.ts";
import { configurationPage } from "./docs-configuration.ts";

it("docs/configuration.md is as the sources have it: npx tsx scripts/docs-configuration.ts writes it", async () => {
  expect(readFileSync(`${root}docs/configuration.md`, "utf8")).toBe(await configurationPage());
}, 300_000);
