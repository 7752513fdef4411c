import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { Logger, type MetricRecord, openStatsStore, statsStoreSink } from "../index.ts";
import { closeReaders, heldIn, readable, sinksIn, unreadable } from "./file-sinks.test-support.ts";
import { linesOf, newFolder, schedule } from "./run.test-support.ts";

afterAll(closeReaders);
/** A log file is for people, and has no keys that a program would look for. */
const exact = readable.filter((kind) => kind !== "log-file");
for (const kind of unreadable) it.skip(`${kind}: nothing here reads its files`, () => undefined);

/** What every sink holds of what was logged, and what the logger gave to all. */
async function everywhere(log: (logger: Logger) => void) {
  const folder = newFolder();
  const store = await openStatsStore(join(folder, "stats.db"));
  const given: MetricRecord[] = [];
  const said: string[] = [];
  const logger = new Logger({
    sinks: [
      ...sinksIn(folder),
      statsStoreSink(store, { schedule }),
      { name: "given", schedule, write: (records) => void given.push(...records) },
    ],
    clock: manualClock(1_700_000_000_000),
    warn: (text) => void said.push(text),
  });
  log(logger);
  await logger.close();
  const { rows } = await store.since("run", 0);
  await store.close();
  expect(said).toEqual([]);
  return { folder, given, rows };
}

const texts = (
  records: readonly { readonly key: string; readonly step: number; readonly value?: unknown }[],
) => records.map(({ key, step, value }) => `${key} ${step} ${value}`).sort();

describe("in every sink, by its own reader", () => {
  const names = [
    "grad/layer 1/norm",
    "<b>loss</b>",
    "_b_loss_/b_",
    "../../etc/passwd",
    'a,"b";\n=cmd()',
    "größe 木",
    "\u001b[31mred",
    "'; drop table metrics; --",
    "LOSS",
    "loss",
    " ",
    "a".repeat(500),
  ];

  it("names with slashes, spaces and markup each have a key of their own", async () => {
    const { folder, given, rows } = await everywhere((logger) => {
      for (let step = 1; step <= 25; step++)
        for (const [i, name] of names.entries()) logger.log({ [name]: i + step / 8 }, step, "a <cat>/b");
    });
    expect(given).toHaveLength(3 * names.length);
    expect(new Set(given.map(({ key }) => key.toLowerCase())).size).toBe(names.length);
    for (const { key } of given) expect(key).toMatch(/^a_cat_\/b\/[\p{L}\p{N}_.\-/]+$/u);
    for (const kind of exact) expect(await heldIn(folder, kind), kind).toEqual(texts(given));
    expect(texts(rows)).toEqual(texts(given));
    // Where a sink has room for it, the name is kept as it was.
    const lines = linesOf(join(folder, "jsonl", "metrics.jsonl"));
    expect(lines.slice(0, names.length).map(({ name }) => name)).toEqual(names);
    expect(rows.slice(0, names.length).map(({ name }) => name)).toEqual(names);
  });

  it("steps that go backwards are filed under their own, and overwrite nothing", async () => {
    const { folder, given, rows } = await everywhere((logger) => {
      for (let step = 1; step <= 30; step++) logger.log({ loss: step }, step);
      logger.log({ loss: 0.5 }, 12);
      logger.log({ loss: 0.25 }, 12);
      logger.log({ loss: 0.125 }, 3);
      for (let step = 31; step <= 40; step++) logger.log({ loss: step }, step);
    });
    expect(texts(given)).toEqual(
      ["10 5.5", "20 15.5", "30 25.5", "40 35.5", "12 0.375", "3 0.125"]
        .map((text) => `train/loss ${text}`)
        .sort(),
    );
    for (const kind of exact) expect(await heldIn(folder, kind), kind).toEqual(texts(given));
    expect(texts(rows)).toEqual(texts(given));
  });
});
