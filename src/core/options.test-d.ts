import { expectTypeOf, it } from "vitest";
import { type OptionTable, option, resolveOptions } from "./options.ts";

interface LoaderOptions {
  readonly batchSize: number;
  readonly lastBatch?: "keep" | "drop";
  readonly limit?: number;
  readonly normalize?: { readonly rewards?: boolean };
}

const table = {
  batchSize: option.integer({ min: 1, required: true }),
  lastBatch: option.oneOf(["keep", "drop"], { default: "keep" }),
  limit: option.number({ above: 0 }),
  normalize: option.group<{ readonly rewards?: boolean }>({ rewards: option.flag({}) }, {}),
} satisfies OptionTable<LoaderOptions>;

it("resolved options have those with a default, and required ones", () => {
  const settings = resolveOptions("loader", { batchSize: 1 }, table);
  expectTypeOf(settings.batchSize).toEqualTypeOf<number>();
  expectTypeOf(settings.lastBatch).toEqualTypeOf<"keep" | "drop">();
  expectTypeOf(settings.limit).toEqualTypeOf<number | undefined>();
  // @ts-expect-error a row that the options do not have
  const more = { ...table, other: option.flag({}) } satisfies OptionTable<LoaderOptions>;
  // @ts-expect-error an option without a row
  const less = { batchSize: table.batchSize } satisfies OptionTable<LoaderOptions>;
  expectTypeOf(more).toBeObject();
  expectTypeOf(less).toBeObject();
});
