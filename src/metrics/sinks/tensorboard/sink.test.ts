import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { noCounters } from "../../../schedule/index.ts";
import { checkSink, type HeldValue, metricRecord } from "../../../testing/index.ts";
import { completed, runInfo, series } from "../../../testing/sinks/records.ts";
import { type FaultyFiles, faultyFiles } from "../faulty-files.test-support.ts";
import { findOriginal, histogramOf, type RunFound } from "./original.test-support.ts";
import { tensorBoardSink } from "./sink.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-tensorboard-"));
afterAll(() => rmSync(folder, { recursive: true }));
const filesOf = (place: string): string[] =>
  readdirSync(join(folder, place))
    .filter((name) => name.startsWith("events"))
    .sort();

describe("tensorBoardSink", () => {
  it("names files so that those of a later process come later, whatever the clock says", () => {
    for (const startedAt of [1_700_000_000_000, 1_700_000_000_400, 5000]) {
      const sink = tensorBoardSink(join(folder, "names"));
      sink.open?.({ ...runInfo("names"), startedAt });
      sink.close?.(completed);
    }
    const seconds = filesOf("names").map((name) => name.split(".")[3]);
    expect(seconds).toEqual(["1700000000", "1700000001", "1700000002"]);
  });

  it("says which place it cannot write to", () => {
    writeFileSync(join(folder, "a-file"), "");
    expect(() => tensorBoardSink(join(folder, "a-file", "x")).open?.(runInfo("x"))).toThrow(/a-file/);
  });

  it("refuses options that it does not have", () => {
    expect(() => tensorBoardSink(folder, { hparam: true } as object)).toThrow(/did you mean "hparams"/);
  });

  it("has the name and the choice that it is given", () => {
    expect(tensorBoardSink(folder)).toMatchObject({ name: "tensorboard" });
    const choice = { name: "tb", categories: ["eval"], metrics: ["*/loss*"] };
    expect(tensorBoardSink(folder, choice)).toMatchObject(choice);
  });
});

const original = findOriginal();
const name = "tensorBoardSink, read by TensorBoard";
if ("missing" in original) it.skip(`${name}: ${original.missing}`, () => undefined);
else
  describe(name, () => {
    afterAll(() => original.close());

    /** Numbers and histograms by the event accumulator, texts by the dashboards' loader, which drops what is void. */
    const readBack = async (place: string): Promise<HeldValue[]> => {
      const { accumulator, loader } = await original.read(join(folder, place));
      const held: HeldValue[] = [];
      for (const run of Object.values(accumulator)) {
        for (const [key, events] of Object.entries(run.scalars))
          for (const [step, , value] of events) held.push({ key, step, value: Number(value) });
        for (const [key, events] of Object.entries(run.histograms))
          for (const [step, value] of events) held.push({ key, step, value: histogramOf(value) });
      }
      for (const run of Object.values(loader))
        for (const [key, events] of Object.entries(run.texts))
          for (const [step, value] of events) held.push({ key, step, value });
      return held;
    };

    const files = new Map<string, FaultyFiles>();
    const cases = checkSink(
      (place) => {
        const faulty = faultyFiles();
        files.set(place, faulty);
        return tensorBoardSink(join(folder, place), { files: faulty });
      },
      {
        readBack,
        keeps: { texts: true, histograms: true, number: Math.fround },
        breakNext: (place, call) =>
          call === "open" ? files.get(place)?.failOpen() : files.get(place)?.fail(100),
      },
    );
    it.each(cases)("$name", ({ run }) => run());

    const histogram = {
      edges: [0, 1, 2],
      counts: [3, 1],
      min: 0.25,
      max: 1.5,
      sum: 4,
      sumSquares: 5,
      count: 4,
    };
    const window = (i: number, value: number) => [
      metricRecord({ step: i * 100, value, unit: "nats" }),
      metricRecord({ step: i * 100, value: -value, category: "eval" }),
      metricRecord({ step: i * 100, value: histogram, name: "weights" }),
      metricRecord({ step: i * 100, value: `window ${i}: ä`, name: "note" }),
      metricRecord({ step: i, value, axis: "epochs", name: "accuracy" }),
      metricRecord({ step: i * 6400, value, axis: "samples", name: "rate" }),
    ];
    const steps = (run: RunFound<unknown> | undefined, tag: string): (number | string)[][] =>
      (run?.scalars[tag] ?? run?.texts[tag] ?? []).map((event) => [event[0], event.at(-1) ?? ""]);

    it("holds each value of a run that was killed and went on once, on every axis, by every reader", async () => {
      const directory = join(folder, "resumed");
      const killed = tensorBoardSink(directory);
      killed.open?.(runInfo("resumed"));
      for (let i = 1; i <= 10; i++) killed.write(window(i, i));
      killed.write([metricRecord({ step: 350, value: 35 }), metricRecord({ step: 950, value: 95 })]);
      const second = tensorBoardSink(directory);
      const resumedAt = { ...noCounters, steps: 700, epochs: 7, samples: 7 * 6400 };
      second.open?.({ ...runInfo("resumed"), resumedAt });
      for (let i = 8; i <= 12; i++) second.write(window(i, 100 + i));
      second.close?.(completed);

      const found = await original.read(directory, { fast: true });
      const value = (i: number): number => (i <= 7 ? i : 100 + i);
      const all = Array.from({ length: 12 }, (_, i) => i + 1);
      for (const [reader, runs] of Object.entries(found).filter(([key]) => key !== "sessions")) {
        if (runs === null) continue; // The fast loader is not installed everywhere.
        const { ".": main, "by-epochs": epochs, "by-samples": samples, late } = runs as typeof found.loader;
        expect([reader, steps(main, "train/loss")]).toEqual([reader, all.map((i) => [i * 100, value(i)])]);
        expect(steps(main, "eval/loss")).toEqual(all.map((i) => [i * 100, -value(i)]));
        expect(main?.histograms["train/weights"]?.map(([step]) => step)).toEqual(all.map((i) => i * 100));
        expect(steps(epochs, "train/accuracy")).toEqual(all.map((i) => [i, value(i)]));
        expect(steps(samples, "train/rate")).toEqual(all.map((i) => [i * 6400, value(i)]));
        if (reader !== "accumulator")
          expect(steps(main, "train/note")).toEqual(all.map((i) => [i * 100, `window ${i}: ä`]));
        // To the fast loader a value is void once its metric has one of an earlier step, and not before.
        const stale = reader === "fast" ? [[950, 95]] : [];
        expect(steps(late, "train/loss")).toEqual([[350, 35], ...stale]);
      }
    });

    it("describes metrics, shows histograms, and compares runs by their settings", async () => {
      const sink = tensorBoardSink(join(folder, "shown"));
      sink.open?.(runInfo("shown"));
      sink.write(window(1, 1));
      sink.write([metricRecord({ step: 1, value: 1, name: "a b", key: "train/a_b", unit: "ms" })]);
      sink.close?.(completed);
      const { loader, sessions } = await original.read(join(folder, "shown"));
      expect(loader["."]?.descriptions).toEqual({
        "train/loss": "in nats",
        "train/a_b": 'logged as "train/a b", in ms',
      });
      expect(loader["."]?.histograms["train/weights"]).toEqual([
        [
          100,
          [
            [0.25, 1, 3],
            [1, 1.5, 1],
          ],
        ],
      ]);
      expect(sessions["."]).toEqual({
        parameters: { seed: 7, "model.width": 64, "model.name": "small", rates: "[0.1,0.01]" },
        status: "STATUS_SUCCESS",
        metrics: ["./eval/loss", "./train/a_b", "./train/loss"],
      });
    });

    it.each([
      ["failed", "STATUS_FAILURE"],
      ["interrupted", null],
    ] as const)("of a run that %s the status is %s", async (outcome, status) => {
      const directory = join(folder, outcome);
      const sink = tensorBoardSink(directory);
      sink.open?.(runInfo(outcome));
      sink.close?.({ ...completed, outcome });
      expect((await original.read(directory)).sessions["."]?.status).toBe(status);
    });

    it("is read up to what a crash left of an event, and goes on after it", async () => {
      const directory = join(folder, "torn");
      const sink = tensorBoardSink(directory, { hparams: false });
      sink.open?.(runInfo("torn"));
      sink.write(series(1, 2));
      const [file = ""] = filesOf("torn");
      const whole = statSync(join(directory, file)).size;
      sink.write(series(3, 3));
      truncateSync(join(directory, file), whole + 20);
      const second = tensorBoardSink(directory, { hparams: false });
      second.open?.(runInfo("torn", 2));
      second.write(series(3, 4));
      expect((await readBack("torn")).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    });

    it("files a call whole or not at all, also where it goes to several files", async () => {
      const faulty = faultyFiles();
      const sink = tensorBoardSink(join(folder, "several"), { files: faulty });
      sink.open?.(runInfo("several"));
      const call = (step: number) => [
        metricRecord({ step, value: step }),
        metricRecord({ step, value: step, axis: "epochs", name: "accuracy" }),
        metricRecord({ step: 1, value: -step, name: "late" }),
      ];
      sink.write([...call(1), ...call(2)]);
      // The first file takes its part, the next one does not.
      faulty.fail(1000);
      expect(() => sink.write(call(3))).toThrow(/ENOSPC/);
      sink.write(call(3));
      const held = (await readBack("several")).map(({ key, step, value }) => `${key} ${step} ${value}`);
      expect(held.sort()).toEqual(
        [1, 2, 3]
          .flatMap((i) => [`train/accuracy ${i} ${i}`, `train/late 1 ${-i}`, `train/loss ${i} ${i}`])
          .sort(),
      );
    });

    it("shows nothing of an old run in whose directory a new one begins", async () => {
      const directory = join(folder, "anew");
      const old = tensorBoardSink(directory);
      old.open?.(runInfo("old"));
      old.write([...series(1, 9), ...series(3, 4)]);
      const young = tensorBoardSink(directory);
      young.open?.(runInfo("young"));
      young.write(series(1, 2));
      expect((await readBack("anew")).map(({ step }) => step)).toEqual([1, 2]);
    });
  });
