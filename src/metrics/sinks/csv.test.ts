import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkSink, type HeldValue } from "../../testing/index.ts";
import { metricRecord, runInfo, series } from "../../testing/sinks/records.ts";
import { csvSink } from "./csv.ts";
import { type FaultyFiles, faultyFiles } from "./faulty-files.test-support.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-csv-"));
afterAll(() => rmSync(folder, { recursive: true }));
const pathOf = (place: string): string => join(folder, place, "metrics.csv");
const textOf = (place: string): string => readFileSync(pathOf(place), "utf8");

/** A reader of RFC 4180 that shares nothing with the writer: fields with whether they stood in quotes. */
function table(text: string): { text: string; quoted: boolean }[][] {
  const rows: { text: string; quoted: boolean }[][] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/gy;
  let row: { text: string; quoted: boolean }[] = [];
  for (let found = field.exec(text); found; found = field.exec(text)) {
    row.push({ text: found[1]?.replaceAll('""', '"') ?? found[2] ?? "", quoted: found[1] !== undefined });
    if (found[3] === "\n") {
      rows.push(row);
      row = [];
    }
  }
  return rows;
}

function readBack(place: string): HeldValue[] {
  const [header = [], ...rows] = table(textOf(place));
  expect(new Set(rows.map((row) => row.length))).toEqual(new Set([header.length]));
  return rows.flatMap((row) =>
    row.slice(3).flatMap(({ text, quoted }, i) => {
      if (text === "" && !quoted) return [];
      const value = quoted ? text : Number(text);
      return [{ key: header[i + 3]?.text ?? "", step: Number(row[0]?.text), value }];
    }),
  );
}

describe("csvSink", () => {
  const files = new Map<string, FaultyFiles>();
  const cases = checkSink(
    (place) => {
      const faulty = faultyFiles();
      files.set(place, faulty);
      return csvSink(pathOf(place), { files: faulty });
    },
    {
      readBack,
      keeps: { texts: true },
      breakNext: (place, call) =>
        call === "open" ? files.get(place)?.failOpen() : files.get(place)?.fail(100),
    },
  );
  it.each(cases)("$name", ({ run }) => run());

  it("refuses a device, which a file would take the place of", () => {
    mkdirSync(join(folder, "device"));
    symlinkSync("/dev/null", pathOf("device"));
    const sink = csvSink(pathOf("device"));
    expect(() => sink.open?.(runInfo("a-run"))).toThrow(/device or a pipe.*SINK_UNUSABLE/);
    expect(lstatSync(pathOf("device")).isSymbolicLink()).toBe(true);
  });

  it("has a row for each step, whatever the order within a call", () => {
    const sink = csvSink(pathOf("rows"));
    sink.open?.(runInfo("rows"));
    sink.write([
      metricRecord({ step: 1, value: 0.5, wall: 0 }),
      metricRecord({ step: 2, value: -0, wall: 1000 }),
      metricRecord({ step: 1, value: 0.25, category: "eval", wall: 0 }),
      metricRecord({
        step: 1,
        value: 3,
        name: "epoch loss",
        key: "train/epoch_loss",
        axis: "epochs",
        wall: 0,
      }),
    ]);
    expect(textOf("rows")).toBe(
      [
        "step,axis,wall,train/loss,eval/loss,train/epoch_loss",
        "1,steps,1970-01-01T00:00:00.000Z,0.5,0.25,",
        "2,steps,1970-01-01T00:00:01.000Z,-0,,",
        "1,epochs,1970-01-01T00:00:00.000Z,,,3",
        "",
      ].join("\n"),
    );
  });

  it("never writes over a value: a second one at the same step has a row of its own", () => {
    const sink = csvSink(pathOf("twice"));
    sink.open?.(runInfo("twice"));
    sink.write([metricRecord({ step: 1, value: 1 }), metricRecord({ step: 1, value: 2 })]);
    expect(readBack("twice").map(({ value }) => value)).toEqual([1, 2]);
  });

  it("gets its new columns by one new file a call, and none where nothing is new", () => {
    const faulty = faultyFiles();
    let renames = 0;
    const counting = {
      ...faulty,
      renameSync: ((from, to) => {
        renames++;
        faulty.renameSync(from, to);
      }) as typeof faulty.renameSync,
    };
    const sink = csvSink(pathOf("wide"), { files: counting });
    sink.open?.(runInfo("wide"));
    const many = Array.from({ length: 1000 }, (_, i) => metricRecord({ step: 2, value: i, name: `m${i}` }));
    sink.write(series(1, 1));
    sink.write(many);
    sink.write(many);
    expect(renames).toBe(2);
    expect(readdirSync(join(folder, "wide"))).toEqual(["metrics.csv"]);
  });

  it("removes on resume what lies after the point on each row's own axis", () => {
    const sink = csvSink(pathOf("axes"));
    sink.open?.(runInfo("axes"));
    sink.write([
      metricRecord({ step: 4, value: 'two\nlines, "quoted"', name: "words" }),
      metricRecord({ step: 5, value: "5,steps\n9,steps", name: "words" }),
      metricRecord({ step: 5, value: 5, axis: "own", name: "b" }),
    ]);
    const again = csvSink(pathOf("axes"));
    again.open?.(runInfo("axes", 4));
    expect(readBack("axes")).toEqual([
      { key: "train/words", step: 4, value: 'two\nlines, "quoted"' },
      { key: "train/b", step: 5, value: 5 },
    ]);
  });

  it.each(["3,steps,1970", '3,steps,1970-01-01T00:00:00.000Z,"two\nli'])(
    "drops what a crash left of a row: %j",
    (torn) => {
      const place = `torn ${torn.length}`;
      const sink = csvSink(pathOf(place));
      sink.open?.(runInfo(place));
      sink.write(series(1, 2));
      appendFileSync(pathOf(place), torn);
      const again = csvSink(pathOf(place));
      again.open?.(runInfo(place, 2));
      again.write(series(3, 3));
      expect(readBack(place).map(({ step }) => step)).toEqual([1, 2, 3]);
    },
  );

  it("leaves the file as it was where the disk is full as columns are added", () => {
    const files = faultyFiles();
    const sink = csvSink(pathOf("full"), { files });
    sink.open?.(runInfo("full"));
    sink.write(series(1, 9));
    const before = textOf("full");
    files.fail(50, 2);
    const wider = [metricRecord({ step: 10, value: 1, name: "new" })];
    for (let i = 0; i < 2; i++) expect(() => sink.write(wider)).toThrow(/ENOSPC/);
    expect(textOf("full")).toBe(before);
    expect(readdirSync(join(folder, "full"))).toEqual(["metrics.csv"]);
    sink.write(wider);
    expect(readBack("full")).toHaveLength(10);
  });

  it("begins a new table for a new run, with its own columns, and keeps that of the run before", () => {
    for (const name of ["a", "b"]) {
      const sink = csvSink(pathOf("runs"));
      sink.open?.(runInfo("runs"));
      sink.write([metricRecord({ step: 1, value: 1, name })]);
    }
    expect(readBack("runs")).toEqual([{ key: "train/b", step: 1, value: 1 }]);
    expect(readFileSync(join(folder, "runs", "metrics.1.csv"), "utf8")).toMatch(
      /^step,axis,wall,train\/a\n1,steps,[^,]+,1\n$/,
    );
  });

  it("does not touch a table of something else", () => {
    mkdirSync(join(folder, "other"));
    writeFileSync(pathOf("other"), "name,price\napple,1\n");
    expect(() => csvSink(pathOf("other")).open?.(runInfo("other"))).toThrow(/SINK_UNUSABLE/);
    expect(textOf("other")).toBe("name,price\napple,1\n");
  });
});
