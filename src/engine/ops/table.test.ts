import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { engineConformance } from "../conformance/conformance.test-support.ts";
import { isLacking, opTable } from "../trace/op.ts";

/** What users load: the table as it is before this test looks for more. */
const loaded = await import("../index.ts").then(() => [...opTable.keys()]);

/** Every file of the ops that is neither a test nor made for tests. */
const files = readdirSync(new URL(".", import.meta.url)).filter((file) => /^[a-z-]+\.ts$/.test(file));
await Promise.all(files.map((file) => import(`./${file}`)));

const rows = [...opTable.values()];

describe("the op table", () => {
  it("is loaded whole by the engine's door", () => {
    expect([...opTable.keys()].filter((name) => !loaded.includes(name))).toEqual([]);
  });

  it.each(rows)("$name has every column or says why not", (row) => {
    expect(typeof row.type).toBe("function");
    for (const column of ["derivative", "batch", "stablehlo", "wasm"] as const) {
      const entry = row[column];
      if (isLacking(entry)) expect(entry.lacking, column).toMatch(/\w+ \w+/);
      else expect(["function", "object"], column).toContain(typeof entry);
    }
  });

  it("lacks columns only where an engine never sees the row or nothing can be differentiated", () => {
    const lacking = (column: "derivative" | "batch" | "stablehlo" | "wasm") =>
      rows.filter((row) => isLacking(row[column])).map((row) => row.name);
    expect(lacking("stablehlo").sort()).toEqual(["call", "placeholder"]);
    expect(lacking("wasm").sort()).toEqual(["call", "placeholder"]);
    expect(lacking("batch")).toEqual(["placeholder"]);
  });

  it("has samples of every row, and no samples of what is no row", async () => {
    const [table] = engineConformance({ engine: "wasm" });
    expect(table?.name).toBe("the op table is whole");
    await table?.run();
  });
});
