import { EspalierError } from "../../core/index.ts";
import type { Histogram, MetricRecord, Sink } from "../../metrics/index.ts";
import type { ConformanceCase } from "../conformance.ts";
import { Bench, type SinkCheck } from "./bench.ts";
import { metricRecord, series } from "./records.ts";

interface SinkCase {
  readonly if?: (check: SinkCheck) => boolean;
  run(bench: Bench): Promise<void>;
}

const odd = 'a/b  c<d>\t"e",=1+1\n# [f] $g {h="i"} \u001b[31m';

const checks: Readonly<Record<string, SinkCase>> = {
  "what was written is held, in order": {
    async run(bench) {
      const sink = await bench.open();
      const records = series(1, 30);
      for (const record of records) await sink.write([record]);
      await sink.write([]);
      const more = series(31, 60);
      await sink.write(more);
      await bench.close(sink);
      await bench.holdsInOrder([...records, ...more], "after close");
    },
  },

  "what was written is held without a close": {
    if: ({ survivesCrash = true }) => survivesCrash,
    async run(bench) {
      const sink = await bench.open();
      await sink.write(series(1, 5));
      await bench.holdsInOrder(series(1, 5), "before close");
      await bench.close(sink);
    },
  },

  "two categories with the same name stay apart": {
    async run(bench) {
      const sink = await bench.open();
      const records = [1, 2, 3].flatMap((step) => [
        metricRecord({ step, value: step }),
        metricRecord({ step, value: -step, category: "eval" }),
      ]);
      await sink.write(records);
      await bench.close(sink);
      await bench.holdsInOrder(records, "both");
    },
  },

  "NaN, infinity and numbers of any size are kept": {
    async run(bench) {
      const sink = await bench.open();
      const values = [Number.NaN, Infinity, -Infinity, 1e30, -1e-30, 0, 0.1, 123_456_789];
      const records = values.map((value, i) => metricRecord({ step: i + 1, value }));
      for (const record of records) await sink.write([record]);
      await bench.close(sink);
      await bench.holdsInOrder(records, "numbers");
    },
  },

  "texts and histograms are kept, or left out, and never stop a number": {
    async run(bench) {
      const sink = await bench.open();
      const histogram = {
        edges: [0, 0.5, 2],
        counts: [1, 2],
        min: 0,
        max: 2,
        sum: 3,
        sumSquares: 5,
        count: 3,
      };
      const records = [
        metricRecord({ step: 1, value: 1 }),
        metricRecord({ step: 1, value: 'say "hi",\nthen go', name: "words", reduction: "last" }),
        metricRecord({ step: 1, value: histogram, name: "weights", reduction: "histogram", count: 3 }),
        metricRecord({ step: 2, value: 2 }),
      ];
      await sink.write(records);
      await bench.close(sink);
      await bench.holdsInOrder(records, "all kinds");
    },
  },

  "every score of a run is there as it was, at its step": {
    async run(bench) {
      const scores = Array.from({ length: 42 }, (_, i) => [
        metricRecord({ step: 7 * (i + 1), value: i / 8, category: "validation", name: "accuracy" }),
        metricRecord({ step: 7 * (i + 1), value: -i - 1, category: "validation", name: "score" }),
      ]).flat();
      await bench.logged((logger) => {
        for (const { name, value, step, category } of scores) logger.log({ [name]: value }, step, category);
      });
      await bench.holdsInOrder(scores, "after 42 validations");
    },
  },

  "a late value stands under its own step": {
    if: ({ keeps }) => keeps?.late !== false,
    async run(bench) {
      const sink = await bench.open();
      const records = [...series(1, 5), metricRecord({ step: 2, value: 22, name: "late" }), ...series(6, 7)];
      for (const record of records) await sink.write([record]);
      await bench.close(sink);
      await bench.holds(records, "with the late one");
    },
  },

  "a write that is made again does not double": {
    if: ({ breakNext }) => breakNext !== undefined,
    async run(bench) {
      const sink = await bench.open();
      await sink.write(series(1, 3));
      const again = [...series(4, 9), ...series(4, 9, { name: "new", key: "train/new" })];
      for (let i = 0; i < 2; i++) await bench.fails("write", () => sink.write(again));
      await sink.write(again);
      await sink.write(series(10, 12));
      await bench.close(sink);
      await bench.holdsInOrder([...series(1, 3), ...again, ...series(10, 12)], "after the retry");
    },
  },

  "an open that is made again works": {
    if: ({ breakNext }) => breakNext !== undefined,
    async run(bench) {
      const sink = await bench.unopened();
      await bench.fails("open", () => bench.openAgain(sink));
      await bench.openAgain(sink);
      await sink.write(series(1, 3));
      await bench.close(sink);
      await bench.holdsInOrder(series(1, 3), "after the second open");
    },
  },

  "a resumed run has each value once": {
    if: ({ keeps }) => keeps?.resumes !== false,
    async run(bench) {
      const other = { category: "eval", key: "eval/loss" };
      const first = await bench.open();
      await first.write([...series(1, 6), ...series(1, 6, other)]);
      await bench.close(first);
      const second = await bench.open(4);
      // Not all of it need come again, where what does not can be forgotten.
      const last = bench.check.keeps?.forgets === false ? 6 : 4;
      await second.write([...series(5, 8), ...series(5, last, other)]);
      await bench.close(second);
      await bench.holdsInOrder([...series(1, 8), ...series(1, last, other)], "after the resume");
    },
  },

  "a run that crashed goes on": {
    if: ({ survivesCrash = true, keeps }) => survivesCrash && keeps?.resumes !== false,
    async run(bench) {
      const lost = await bench.open();
      await lost.write(series(1, 6));
      const second = await bench.open(4);
      await second.write(series(5, 6));
      await second.write(series(7, 8, { category: "eval", key: "eval/loss" }));
      await bench.close(second);
      await bench.holdsInOrder(
        [...series(1, 6), ...series(7, 8, { category: "eval", key: "eval/loss" })],
        "after the resume",
      );
    },
  },

  "a thousand new metrics come in one call": {
    async run(bench) {
      const sink = await bench.open();
      const many = (step: number, from: number): MetricRecord[] =>
        Array.from({ length: 1000 }, (_, i) => metricRecord({ step, value: i + step, name: `m${from + i}` }));
      const records = [...series(1, 2), ...many(3, 0), ...many(4, 500)];
      await sink.write(records.slice(0, 2));
      await sink.write(records.slice(2, 1002));
      await sink.write(records.slice(1002));
      await bench.close(sink);
      await bench.holdsInOrder(records, "all of them");
    },
  },

  "a metric may be named anything": {
    async run(bench) {
      const sink = await bench.open();
      const key = "train/a/b_c_d_e_1_1_f_g_h_i_31m";
      const named = (step: number): MetricRecord => metricRecord({ step, value: step, name: odd, key });
      const unlike = metricRecord({ step: 1, value: 9, name: "größe", unit: 'm"\n<b>' });
      const category = metricRecord({ step: 1, value: 8, category: `eval ${odd}`, key: "eval_a/loss" });
      const records = [named(1), unlike, category, named(2)];
      await sink.write(records);
      await bench.close(sink);
      await bench.holdsInOrder(records, "all of them");
    },
  },
};

/**
 * The conformance suite of sinks. `makeSink(place)` gives a sink at a place of that name: an empty place when the name
 * is new, and the same one each time it is given one name, as the next process of a run would find it. The place's
 * name is also the id of the run.
 *
 * @example
 * ```ts
 * const readBack = (place: string) => parse(readFileSync(`${folder}/${place}`, "utf8"));
 * for (const { name, run } of checkSink((place) => mySink(`${folder}/${place}`), { readBack })) test(name, run);
 * ```
 */
export function checkSink(
  makeSink: (place: string) => Sink | Promise<Sink>,
  check: SinkCheck = {},
): readonly ConformanceCase[] {
  return Object.entries(checks)
    .filter(([, { if: applies }]) => applies?.(check) ?? true)
    .map(([name, { run }], i) => ({ name, run: () => run(new Bench(`sink-${i}`, makeSink, check)) }));
}

/** A value as a sink's own reader finds it. */
export interface HeldValue {
  readonly key: string;
  /** Left out by sinks that do not keep it. */
  readonly step?: number;
  readonly value: number | string | Histogram;
}

/** The values that a sink can hold. Default: numbers, all of them, as they are. */
export interface SinkKeeps {
  readonly texts?: boolean;
  readonly histograms?: boolean;
  /** Only the newest value of each metric. */
  readonly newestOnly?: boolean;
  /** False where a value does not tell its step. */
  readonly steps?: boolean;
  /** False where nothing is left once the process has ended. */
  readonly resumes?: boolean;
  /** False where a value of an earlier step cannot be filed under it. */
  readonly late?: boolean;
  /** False where what was filed cannot be removed when a run is resumed. What comes again must still stand once. */
  readonly forgets?: boolean;
  /** Changes that a sink makes to a number: `Math.fround` for single precision. Default: none. */
  readonly number?: (value: number) => number;
}

/** The records that a sink should hold, in their order. */
export function expected(records: readonly MetricRecord[], keeps: SinkKeeps): HeldValue[] {
  const held = records.filter(
    ({ value }) =>
      typeof value === "number" || (typeof value === "string" ? keeps.texts : keeps.histograms) === true,
  );
  return (keeps.newestOnly ? newest(held) : held).map(({ key, step, value }) => ({
    key,
    ...(keeps.steps !== false && { step }),
    value: typeof value === "number" ? (keeps.number?.(value) ?? value) : value,
  }));
}

function newest(records: readonly MetricRecord[]): MetricRecord[] {
  const byKey = new Map<string, MetricRecord>();
  for (const record of records)
    if (record.step >= (byKey.get(record.key)?.step ?? Number.NEGATIVE_INFINITY))
      byKey.set(record.key, record);
  return [...byKey.values()];
}

const shown = (values: readonly HeldValue[]): string[] =>
  values.map(({ key, step, value }) => {
    const number = Object.is(value, -0) ? "-0" : String(value);
    return `${key}${step === undefined ? "" : ` @${step}`} = ${typeof value === "object" ? JSON.stringify(value) : number}`;
  });

const byKey = (values: readonly HeldValue[]): HeldValue[] =>
  values.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));

/** Checks that a sink holds these values and no others, each metric's in this order. */
export function sameInOrder(found: readonly HeldValue[], wanted: readonly HeldValue[], what: string): void {
  const [is, should] = [shown(byKey(found)), shown(byKey(wanted))];
  const at = should.findIndex((text, i) => text !== is[i]);
  if (at < 0 && is.length === should.length) return;
  const place = at < 0 ? should.length : at;
  throw new EspalierError(
    "CONFORMANCE",
    `${what}: of ${is.length} values number ${place} is ${is[place] ?? "missing"}, where of ${should.length} ` +
      `${should[place] ?? "none"} was expected`,
  );
}

const byStep = (values: readonly HeldValue[]): HeldValue[] =>
  values.toSorted((a, b) => (a.step ?? 0) - (b.step ?? 0));

/** The same, in the order of their steps: for those that a sink may file in between. */
export const same = (found: readonly HeldValue[], wanted: readonly HeldValue[], what: string): void =>
  sameInOrder(byStep(found), byStep(wanted), what);
