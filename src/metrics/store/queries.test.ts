import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KyselyPlugin } from "kysely";
import { expect, it } from "vitest";
import { since } from "./queries.ts";
import { openSqlite } from "./sqlite.ts";
import { openStatsStore } from "./stats-store.ts";
import { aRecord, aRun } from "./stores.test-support.ts";

it("what comes while it is read is not jumped over", async () => {
  const folder = mkdtempSync(join(tmpdir(), "espalier-since-"));
  const path = join(folder, "stats.db");
  const writer = await openStatsStore(path);
  await writer.startRun(aRun("a"));
  const file = async (from: number, to: number): Promise<void> =>
    writer.addMetrics(
      "a",
      Array.from({ length: to - from + 1 }, (_, index) => aRecord(from + index, 1)),
    );
  await file(1, 100);

  // After the second answer, which is the values of the only block, that block is filled up and another begun.
  let answers = 0;
  const meanwhile: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (++answers === 2) for (const step of [101, 1101, 2101]) await file(step, step + 999);
      return result;
    },
  };
  const reader = await openSqlite(path);
  const first = await since(reader.tables.withPlugin(meanwhile), 1, 0);
  const rest = await since(reader.tables, 1, first.next);
  expect([...first.rows, ...rest.rows].map(({ step }) => step)).toEqual(
    Array.from({ length: 3100 }, (_, index) => index + 1),
  );
  await reader.close();
  await writer.close();
  rmSync(folder, { recursive: true });
});
