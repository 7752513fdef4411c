import { describe, expectTypeOf, it } from "vitest";
import type { Dataset } from "./dataset.ts";
import type { ExampleArrays } from "./example.ts";
import { tabular } from "./generated.ts";
import { fromIterable, zip } from "./sources.ts";
import { csv, type Row } from "./text-files.ts";
import { columns, label, numeric } from "./transform.ts";

describe("types of datasets", () => {
  it("follow the rows through their methods", () => {
    const rows = fromIterable([{ a: 1, b: "x" }]);
    expectTypeOf(rows).toEqualTypeOf<Dataset<{ a: number; b: string }>>();
    expectTypeOf(rows.map(async (row) => row.b)).toEqualTypeOf<Dataset<string>>();
    expectTypeOf(rows.batch(2)).toEqualTypeOf<Dataset<readonly { a: number; b: string }[]>>();
    expectTypeOf(rows.concat(fromIterable([1]))).toEqualTypeOf<Dataset<{ a: number; b: string } | number>>();
    const { train } = rows.split({ train: 0.5, rest: 0.5 });
    expectTypeOf(train).toEqualTypeOf<typeof rows>();
    // @ts-expect-error: there is no such part
    rows.split({ train: 0.5, rest: 0.5 }).test;
    expectTypeOf(zip({ x: fromIterable([1]), y: fromIterable(["a"]) })).toEqualTypeOf<
      Dataset<{ readonly x: number; readonly y: string }>
    >();
    expectTypeOf(csv("a.csv")).toEqualTypeOf<Dataset<Row>>();
    expectTypeOf(csv<{ age: number }>("a.csv")).toEqualTypeOf<Dataset<{ age: number }>>();
  });

  it("let any rows be columns, and only examples be arrays", () => {
    const transform = columns({ x: [numeric("age")], y: label("bought") });
    expectTypeOf(transform.fit).toBeCallableWith(tabular());
    expectTypeOf(tabular().transform(transform).toArrays()).toEqualTypeOf<Promise<ExampleArrays>>();
    // @ts-expect-error: rows are no examples
    tabular().toArrays();
    // @ts-expect-error: a column has a name
    numeric();
  });
});
