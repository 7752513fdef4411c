import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkSink, type HeldValue } from "../../testing/index.ts";
import { completed, metricRecord, runInfo, series } from "../../testing/sinks/records.ts";
import { Delivery } from "./delivery/delivery.ts";
import { manualTimers } from "./delivery/timers.test-support.ts";
import { type FaultyFiles, faultyFiles } from "./faulty-files.test-support.ts";
import { jsonlSink } from "./jsonl.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-jsonl-"));
afterAll(() => rmSync(folder, { recursive: true }));
const pathOf = (place: string): string => join(folder, place, "metrics.jsonl");

const linesOf = (place: string): Record<string, unknown>[] =>
  readFileSync(pathOf(place), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** As the documentation says it is to be read. */
const readBack = (place: string): HeldValue[] =>
  linesOf(place).map(({ key, step, value, text, histogram }) => ({
    key: String(key),
    step: Number(step),
    value: (text ?? histogram ?? Number(value)) as HeldValue["value"],
  }));

describe("jsonlSink", () => {
  const files = new Map<string, FaultyFiles>();
  const cases = checkSink(
    (place) => {
      const faulty = faultyFiles();
      files.set(place, faulty);
      return jsonlSink(pathOf(place), { files: faulty });
    },
    {
      readBack,
      keeps: { texts: true, histograms: true },
      breakNext: (place, call) =>
        call === "open" ? files.get(place)?.failOpen() : files.get(place)?.fail(700),
    },
  );
  it.each(cases)("$name", ({ run }) => run());

  it("writes everything there is to know, in JSON that anybody reads", () => {
    const sink = jsonlSink(pathOf("all"));
    sink.open?.(runInfo("all"));
    sink.write([
      metricRecord({ step: 100, value: Number.NaN, unit: "nats", count: 7, notFinite: 2, wall: 5 }),
      metricRecord({ step: 100, value: "NaN", name: "words", reduction: "last" }),
    ]);
    const counters = { epoch: 0, epochs: 0, batches: 0, updates: 0, samples: 0, steps: 100, seconds: 0 };
    expect(linesOf("all")).toEqual([
      {
        key: "train/loss",
        category: "train",
        name: "loss",
        unit: "nats",
        axis: "steps",
        reduction: "mean",
        step: 100,
        value: "NaN",
        count: 7,
        notFinite: 2,
        wall: 5,
        counters,
      },
      {
        key: "train/words",
        category: "train",
        name: "words",
        axis: "steps",
        reduction: "last",
        step: 100,
        text: "NaN",
        count: 1,
        notFinite: 0,
        wall: 1_700_000_100_000,
        counters,
      },
    ]);
  });

  it("keeps -0", () => {
    const sink = jsonlSink(pathOf("zero"));
    sink.open?.(runInfo("zero"));
    const histogram = { edges: [-1, 1], counts: [1], min: -0, max: -0, sum: -0, sumSquares: 0, count: 1 };
    sink.write([metricRecord({ step: 1, value: -0 }), metricRecord({ step: 1, value: histogram })]);
    expect(linesOf("zero")[0]?.value).toBe(-0);
    expect(linesOf("zero")[1]?.histogram).toEqual(histogram);
  });

  it("removes on resume what lies after the point on each metric's own axis, and nothing of others", () => {
    const sink = jsonlSink(pathOf("axes"));
    sink.open?.(runInfo("axes"));
    sink.write([
      ...series(3, 5),
      metricRecord({ step: 4, value: 4, axis: "updates", name: "a" }),
      metricRecord({ step: 5, value: 5, axis: "updates", name: "a" }),
      metricRecord({ step: 900, value: 9, axis: "own", name: "b" }),
    ]);
    appendFileSync(pathOf("axes"), 'a line of mine\n{"step":9}\n');
    const again = jsonlSink(pathOf("axes"));
    again.open?.(runInfo("axes", 4));
    const left = readFileSync(pathOf("axes"), "utf8").split("\n");
    expect(left.map((line) => line.match(/"step":\d+/)?.[0] ?? line)).toEqual([
      '"step":3',
      '"step":4',
      '"step":4',
      '"step":900',
      "a line of mine",
      '"step":9',
      "",
    ]);
    expect(readdirSync(join(folder, "axes"))).toEqual(["metrics.jsonl"]);
  });

  it("begins a new file for a new run, and keeps those of the runs before", () => {
    for (const value of [1, 2, 3]) {
      const sink = jsonlSink(pathOf("runs"));
      sink.open?.(runInfo("runs"));
      sink.write([metricRecord({ step: value, value })]);
    }
    const held = (name: string) => readFileSync(join(folder, "runs", name), "utf8").match(/"value":\d/g);
    expect(readdirSync(join(folder, "runs")).sort()).toEqual([
      ...["metrics.1.jsonl", "metrics.2.jsonl", "metrics.jsonl"],
    ]);
    expect(held("metrics.1.jsonl")).toEqual(['"value":1']);
    expect(held("metrics.2.jsonl")).toEqual(['"value":2']);
    expect(held("metrics.jsonl")).toEqual(['"value":3']);
    const resumed = jsonlSink(pathOf("runs"));
    resumed.open?.(runInfo("runs", 3));
    resumed.write(series(4, 4));
    expect(readBack("runs").map(({ step }) => step)).toEqual([3, 4]);
    expect(readdirSync(join(folder, "runs"))).toHaveLength(3);
  });

  it("goes on behind lines that no run has written", () => {
    mkdirSync(join(folder, "mine"));
    writeFileSync(pathOf("mine"), '{"note":"mine"}\n');
    const sink = jsonlSink(pathOf("mine"));
    sink.open?.(runInfo("mine"));
    sink.write(series(1, 1));
    expect(linesOf("mine")).toMatchObject([{ note: "mine" }, { step: 1 }]);
  });

  it("keeps the file of the run before where it cannot be renamed, and can be opened again", () => {
    const sink = jsonlSink(pathOf("stuck"));
    sink.open?.(runInfo("stuck"));
    sink.write(series(1, 2));
    let refused = 1;
    const files = {
      ...faultyFiles(),
      renameSync: ((from, to) => {
        if (refused-- > 0) throw new Error("EBUSY");
        renameSync(from, to);
      }) as typeof renameSync,
    };
    const next = jsonlSink(pathOf("stuck"), { files });
    expect(() => next.open?.(runInfo("next"))).toThrow("EBUSY");
    expect(readdirSync(join(folder, "stuck"))).toEqual(["metrics.jsonl"]);
    next.open?.(runInfo("next"));
    next.write(series(3, 3));
    expect(readBack("stuck").map(({ step }) => step)).toEqual([3]);
    expect(readdirSync(join(folder, "stuck")).sort()).toEqual(["metrics.1.jsonl", "metrics.jsonl"]);
  });

  it("drops what a crash left of a line", () => {
    const sink = jsonlSink(pathOf("torn"));
    sink.open?.(runInfo("torn"));
    sink.write(series(1, 2));
    appendFileSync(pathOf("torn"), '{"key":"train/lo');
    const again = jsonlSink(pathOf("torn"));
    again.open?.(runInfo("torn", 2));
    again.write(series(3, 3));
    expect(readBack("torn").map(({ step }) => step)).toEqual([1, 2, 3]);
  });

  it("leaves the file as it was where the disk is full on resume, and can be opened again", () => {
    const sink = jsonlSink(pathOf("full"));
    sink.open?.(runInfo("full"));
    sink.write(series(1, 9));
    const before = readFileSync(pathOf("full"), "utf8");
    const files = faultyFiles();
    const again = jsonlSink(pathOf("full"), { files });
    files.fail(100);
    expect(() => again.open?.(runInfo("full", 4))).toThrow(/ENOSPC/);
    expect(readFileSync(pathOf("full"), "utf8")).toBe(before);
    expect(existsSync(`${pathOf("full")}.new`)).toBe(false);
    again.open?.(runInfo("full", 4));
    expect(readBack("full").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  });

  it.each([0, 1, 2])("has nothing of a call that failed, where the file cannot be cut %d times", (times) => {
    const place = `cut ${times}`;
    const files = faultyFiles();
    const sink = jsonlSink(pathOf(place), { files });
    sink.open?.(runInfo(place));
    sink.write(series(1, 2));
    files.fail(2000);
    files.failCut(times);
    expect(() => sink.write(series(3, 20))).toThrow(/ENOSPC/);
    if (times === 0) expect(readBack(place)).toHaveLength(2);
    if (times === 2) expect(() => sink.write(series(3, 3))).toThrow(/ENOSPC/);
    sink.write(series(3, 3));
    expect(readBack(place).map(({ step }) => step)).toEqual([1, 2, 3]);
  });

  it("with its delivery loses nothing to a directory that is read-only, then full, for a while", async () => {
    const files = faultyFiles();
    const time = manualTimers();
    const sink = jsonlSink(pathOf("faults"), { files });
    const delivery = new Delivery(sink, { clock: time.clock, timers: time, warn: () => undefined });
    files.failOpen(3);
    delivery.open(runInfo("faults"));
    delivery.send(series(1, 3));
    await time.pass(1000);
    files.fail(100, 4);
    for (const record of series(4, 9)) delivery.send([record]);
    await time.pass(10_000);
    delivery.send(series(10, 10));
    await delivery.close(completed);
    expect(readBack("faults").map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(delivery.summary()).toMatchObject({ written: 10, failures: 7, lost: 0 });
  });

  it("says which place it cannot write to", () => {
    writeFileSync(join(folder, "a-file"), "");
    expect(() => jsonlSink(join(folder, "a-file", "x.jsonl")).open?.(runInfo("x"))).toThrow(/a-file/);
  });
});
