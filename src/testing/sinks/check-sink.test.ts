import { describe, expect, it } from "vitest";
import type { MetricRecord, Sink } from "../../metrics/index.ts";
import { comesAgain } from "../../metrics/sinks/sink.ts";
import { checkSink, type HeldValue, type SinkCheck } from "../index.ts";

/** How a sink in memory can be wrong. */
interface Faults {
  readonly change?: (record: MetricRecord) => MetricRecord | undefined;
  readonly keepsHalves?: boolean;
  readonly forgetsNothing?: boolean;
  readonly buffers?: boolean;
  readonly sorts?: boolean;
}

/** Places with records, and sinks that file them there. */
function inMemory(faults: Faults = {}): [make: (place: string) => Sink, check: SinkCheck] {
  const places = new Map<string, MetricRecord[]>();
  const broken = new Map<string, string>();
  const breaks = (place: string, call: string): boolean => {
    const is = broken.get(place) === call;
    if (is) broken.delete(place);
    return is;
  };
  const make = (place: string): Sink => {
    let buffer: MetricRecord[] = [];
    const filed = (): MetricRecord[] => places.get(place) ?? [];
    return {
      name: "memory",
      async open({ resumedAt }) {
        if (breaks(place, "open")) throw new Error("no");
        const keep = (record: MetricRecord) => faults.forgetsNothing || !comesAgain(record, resumedAt);
        places.set(place, filed().filter(keep));
      },
      async write(records) {
        const kept = records.flatMap((record) => (faults.change ? (faults.change(record) ?? []) : record));
        const fails = breaks(place, "write");
        if (fails && !faults.keepsHalves) throw new Error("no");
        const now = fails ? kept.slice(0, 3) : kept;
        if (faults.buffers) buffer.push(...now);
        else places.set(place, [...filed(), ...now]);
        if (faults.sorts) filed().sort((a, b) => a.value.toString().localeCompare(b.value.toString()));
        if (fails) throw new Error("no");
      },
      async close() {
        places.set(place, [...filed(), ...buffer]);
        buffer = [];
      },
    };
  };
  const readBack = (place: string): HeldValue[] =>
    (places.get(place) ?? []).map(({ key, step, value }) => ({ key, step, value }));
  const breakNext = (place: string, call: string): void => void broken.set(place, call);
  return [make, { readBack, breakNext, keeps: { texts: true, histograms: true } }];
}

/** The checks that a sink with these faults does not pass. */
async function failed(faults: Faults): Promise<string[]> {
  const names: string[] = [];
  for (const { name, run } of checkSink(...inMemory(faults)))
    await run().catch((error: unknown) => {
      expect(error).toMatchObject({ code: "CONFORMANCE" });
      names.push(name);
    });
  return names;
}

describe("checkSink", () => {
  it.each(checkSink(...inMemory()))("a right sink passes: $name", ({ run }) => run());

  it.each<[what: string, faults: Faults, check: string]>([
    ["loses order", { sorts: true }, "what was written is held, in order"],
    ["buffers", { buffers: true }, "what was written is held without a close"],
    [
      "takes names for keys",
      { change: (record) => ({ ...record, key: record.name }) },
      "two categories with the same name stay apart",
    ],
    [
      "has no NaN",
      { change: (record) => (Number.isNaN(record.value) ? { ...record, value: 0 } : record) },
      "NaN, infinity and numbers of any size are kept",
    ],
    [
      "has no infinity",
      { change: (record) => (record.value === -Infinity ? undefined : record) },
      "NaN, infinity and numbers of any size are kept",
    ],
    [
      "loses texts",
      { change: (record) => (typeof record.value === "string" ? undefined : record) },
      "texts and histograms are kept, or left out, and never stop a number",
    ],
    [
      "files late values elsewhere",
      { change: (record) => (record.name === "late" ? { ...record, step: 5 } : record) },
      "a late value stands under its own step",
    ],
    ["doubles what it filed", { keepsHalves: true }, "a write that is made again does not double"],
    ["doubles what comes again", { forgetsNothing: true }, "a resumed run has each value once"],
    [
      "takes a hundred metrics",
      { change: (record) => (/^m\d{3}/.test(record.name) ? undefined : record) },
      "a thousand new metrics come in one call",
    ],
    [
      "stumbles over names",
      { change: (record) => (/[<\n]/.test(record.name) ? undefined : record) },
      "a metric may be named anything",
    ],
  ])("finds a sink that %s", async (_, faults, check) => {
    expect(await failed(faults)).toContain(check);
  });

  it("leaves out what it was not told how to check", () => {
    const names = checkSink(() => ({ name: "none", write: () => undefined }), { survivesCrash: false }).map(
      ({ name }) => name,
    );
    expect(names).not.toContain("a write that is made again does not double");
    expect(names).not.toContain("what was written is held without a close");
    expect(names).toContain("a metric may be named anything");
  });
});
