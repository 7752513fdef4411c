import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EspalierError } from "../core/index.ts";
import { datasetFromRecipe } from "./recipe.ts";
import { fromIterable } from "./sources.ts";
import { csv } from "./text-files.ts";
import { columns, label, numeric, oneHot, standardize, transformFrom } from "./transform.ts";

const fixture = (name: string): URL => new URL(`./fixtures/${name}`, import.meta.url);

const rows = fromIterable(
  [
    { age: 20, city: "Oslo", member: true, price: 1, kind: "dog" },
    { age: 40, city: "Rome", member: false, price: 3, kind: "cat" },
    { age: 30, city: "Oslo", member: false, price: 5, kind: "dog" },
  ],
  "pets",
);
type Pet = ReturnType<typeof rows.get> & { readonly age: number };

async function errorOf(work: () => unknown): Promise<EspalierError> {
  try {
    await work();
  } catch (error) {
    return error as EspalierError;
  }
  return expect.fail("it did not throw");
}

describe("columns", () => {
  it("are what scikit-learn makes of them", async () => {
    const table = csv(fixture("table.csv"), { missing: { note: "" } });
    const transform = columns({ x: [standardize("id", "height"), oneHot("city")] });
    await transform.fit(table);
    const { x } = await table.transform(transform).toArrays();
    const expected = JSON.parse(readFileSync(fixture("columns.json"), "utf8")) as number[][];
    const { data, shape } = x as { readonly data: Float32Array; readonly shape: readonly number[] };
    expect(shape).toEqual([10, 5]);
    expected.flat().forEach((number, i) => expect(data[i]).toBeCloseTo(number, 5));
  });

  it("are learned from the training rows, applied to others, and decoded", async () => {
    const transform = columns({
      x: [standardize("age"), oneHot("city"), numeric("member")],
      y: label("kind"),
    });
    expect([transform.fitted, transform.labels]).toEqual([false, undefined]);
    await transform.fit(rows);
    expect([transform.fitted, transform.labels]).toEqual([true, ["cat", "dog"]]);
    const row = { age: 30, city: "Rome", member: true, price: 0, kind: "dog" };
    expect(transform.apply(row)).toEqual({
      x: Float32Array.of(0, 0, 1, 1),
      y: { data: Int32Array.of(1), shape: [] },
    });
    expect(transform.inputs({ age: 40, city: "Oslo", member: false })).toEqual(
      Float32Array.of(Math.sqrt(1.5), 1, 0, 0),
    );
    expect(transform.decode([0.3, 0.1])).toBe("cat");
    expect(transform.decode(Float32Array.of(-2, 5))).toBe("dog");
    // One logit, of the second label.
    expect([-0.1, 0, 3].map((logit) => transform.decode([logit]))).toEqual(["cat", "dog", "dog"]);
    for (const outputs of [[Number.NaN, 1], [Number.NaN]])
      expect((await errorOf(() => transform.decode(outputs))).message).toMatch(/NaN.*OUTPUTS_NOT_FINITE/);
  });

  it("of numbers to predict come back in their own unit", async () => {
    const transform = columns({ x: [numeric("age")], y: standardize("price") });
    await transform.fit(rows);
    const { y } = transform.apply({ age: 1, price: 5 });
    const standard = Float32Array.of(2 / Math.sqrt(8 / 3));
    expect(y).toEqual({ data: standard, shape: [] });
    expect(transform.decode(standard)).toBeCloseTo(5, 5);
    const two = columns({ x: [numeric("age")], y: numeric("price", "age") });
    await two.fit(rows);
    expect(two.decode([1, 2])).toEqual({ price: 1, age: 2 });
    expect((await errorOf(() => two.decode([1]))).code).toBe("SHAPE_MISMATCH");
  });

  it("go on from their state alone, and in another thread from the recipe", async () => {
    const transform = columns({ x: [standardize("age"), oneHot("city")], y: label("kind") });
    await transform.fit(rows);
    const state = JSON.parse(JSON.stringify(transform.getState()));
    const again = transformFrom(state);
    const row = { age: 25, city: "Rome", kind: "cat" };
    expect(again.apply(row)).toEqual(transform.apply(row as Pet));
    expect(again.decode([0, 1])).toBe("dog");
    expect((await errorOf(() => transformFrom({ kind: "other" }))).code).toBe("STATE_INVALID");
    const table = csv(fixture("table.csv"), { missing: { note: "" } });
    const cities = columns({ x: [oneHot("city")], y: numeric("height") });
    await cities.fit(table);
    const data = table.transform(cities);
    const inThread = await datasetFromRecipe(structuredClone(data.recipe ?? expect.fail()));
    expect(await inThread.toArrays()).toEqual(await data.toArrays());
  });

  it("with one row, or one value, have no deviation to divide by", async () => {
    const transform = columns({ x: [standardize("age")] });
    await transform.fit(fromIterable([{ age: 7 }]));
    expect(transform.inputs({ age: 9 })).toEqual(Float32Array.of(2));
  });

  it.each([
    ["an unknown label", { kind: "bird" }, "LABEL_UNKNOWN", /"kind" is "bird"/],
    ["an unknown category", { city: "Lima" }, "CATEGORY_UNKNOWN", /"city" is "Lima"/],
    ["a number that is none", { age: Number.NaN }, "DATA_NOT_FINITE", /"age" is NaN/],
    ["a text for a number", { age: "old" }, "DATA_NOT_FINITE", /"age" is "old"/],
    ["no category", { city: null }, "DATA_INVALID", /"city" is null/],
  ])("name the row with %s", async (_name, wrong, code, message) => {
    const transform = columns({ x: [standardize("age"), oneHot("city")], y: label("kind") });
    await transform.fit(rows);
    const bad = fromIterable<object>([await rows.get(0), { ...(await rows.get(1)), ...wrong }], "more");
    const error = await errorOf(() => bad.transform(transform).toArrays());
    expect([error.code, (error.cause as EspalierError).code]).toEqual(["DATA_ROW_INVALID", code]);
    expect(error.message).toMatch(/^more, row 1: /);
    expect(error.message).toMatch(message);
  });

  it("leave rows that are wrong in any column out of fitting and of examples, where bad rows are skipped", async () => {
    const nan = { age: 1000, city: "Lima", price: Number.NaN, kind: "bird" };
    const good = await Promise.all([0, 1, 2].map(async (i) => rows.get(i)));
    const mixed = fromIterable([nan, ...good], "mixed");
    const options = { x: [standardize("age"), oneHot("city"), numeric("price")], y: label("kind") };
    const [transform, expected] = [columns(options), columns(options)];
    await expected.fit(rows);
    await expect(transform.fit(mixed)).rejects.toMatchObject({ code: "DATA_ROW_INVALID" });
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    await transform.fit(mixed.skipBad());
    expect((await warned).message).toMatch(/^mixed: 1 of .*row 0: .*"price" is NaN/);
    expect(transform.getState()).toEqual(expected.getState());
    const skipping = mixed.skipBad().shuffle({ buffer: 1 }).transform(transform);
    expect(await skipping.toArrays()).toEqual(await rows.transform(transform).toArrays());
    const some = csv(fixture("table.csv")).skipBad(); // A note is missing.
    const heights = columns({ x: [standardize("height")] });
    await heights.fit(some);
    const data = some.transform(heights);
    const inThread = await datasetFromRecipe(structuredClone(data.recipe ?? expect.fail()));
    expect((await inThread.toArrays()).x).toMatchObject({ shape: [9, 1] });
    expect(await inThread.toArrays()).toEqual(await data.toArrays());
  });

  it("name the cell that made a column of a CSV file text, wherever it is, and not the first number", async () => {
    const folder = mkdtempSync(join(tmpdir(), "espalier-"));
    const path = join(folder, "n.csv");
    const cells = Array.from({ length: 50 }, (_, i) => (i === 30 ? "oops" : i === 3 ? "NA" : String(i)));
    writeFileSync(path, `a,b\n${cells.map((cell) => `${cell},1`).join("\n")}\n`);
    const table = csv(path);
    const without30 = (await table.inMemory()).select([0, 1, 2], "n.csv (train)");
    for (const data of [table, table.skipBad(), table.map((row) => ({ ...row })), without30]) {
      const error = await errorOf(() => columns({ x: [standardize("a")] }).fit(data));
      expect([error.code, (error.cause as EspalierError).code]).toEqual([
        "DATA_SOURCE_FAILED",
        "DATA_NOT_FINITE",
      ]);
      expect(error.message).toMatch(/^n\.csv.*: the column "a" is text, because row 30 is "oops"/);
      expect(error.fix).toContain('types: { "a": "number" }');
    }
    const told = csv(path, { types: { a: "text" } });
    await expect(columns({ x: [standardize("a")] }).fit(told)).rejects.toThrow(/row 0: .*"a" is "0"/);
    const numbers = csv(path, { types: { a: "number" }, missing: { a: 0 } });
    await columns({ x: [standardize("a")] }).fit(numbers.skipBad());
    await expect(columns({ x: [standardize("a")] }).fit(numbers)).rejects.toThrow(/n\.csv, row 30: .*"oops"/);
    rmSync(folder, { recursive: true });
  });

  it("refuse wrong columns, no rows, and use before they are fitted", async () => {
    const wrong = columns({ x: [numeric("ages")] });
    const error = await errorOf(() => wrong.fit(rows));
    expect([error.code, (error.cause as EspalierError).code]).toEqual([
      "DATA_ROW_INVALID",
      "DATA_COLUMN_UNKNOWN",
    ]);
    expect(error.message).toMatch(/pets, row 0: .*"ages".*"age"/);
    // A column of numbers that a single cell made text: the fix is how that cell is found.
    const texts = await errorOf(() => columns({ x: [numeric("age")] }).fit(fromIterable([{ age: "12" }])));
    expect([(texts.cause as EspalierError).code, texts.fix]).toEqual([
      "DATA_NOT_FINITE",
      expect.stringContaining('types: { "age": "number" }'),
    ]);
    const early = columns({ x: [standardize("age")] });
    expect((await errorOf(() => early.inputs({ age: 1 }))).code).toBe("TRANSFORM_NOT_FITTED");
    expect((await errorOf(() => early.fit(fromIterable([])))).code).toBe("DATA_EMPTY");
    expect((await errorOf(() => columns({ x: [] }))).code).toBe("OPTION_INVALID");
    expect((await errorOf(() => columns({ x: [label("kind")] }))).code).toBe("OPTION_INVALID");
    expect((await errorOf(() => numeric("")))?.code).toBe("OPTION_INVALID");
  });
});
