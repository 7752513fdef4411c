import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { node } from "../../core/index.ts";
import { Logger, type MetricRecord, type Sink } from "../index.ts";
import { fileSinks } from "./file-sinks.test-support.ts";
import { linesOf, newFolder, schedule, shared, type Trained, trained } from "./run.test-support.ts";

const never = new Promise<void>(() => undefined);

/** A sink one of whose calls never answers: of `write` the sixth. */
function hanging(call: "open" | "write" | "close"): Sink & { readonly held: MetricRecord[] } {
  const held: MetricRecord[] = [];
  let calls = 0;
  return {
    ...{ name: "hanging", schedule, held },
    open: () => (call === "open" ? never : undefined),
    write: (records) => {
      if (call === "write" && ++calls === 6) return never;
      held.push(...records);
      return undefined;
    },
    close: () => (call === "close" ? never : undefined),
  };
}

describe("a sink that hangs for ever", () => {
  let quiet: Trained;
  let healthy: Trained;
  beforeAll(async () => {
    quiet = await trained({ silent: true });
    healthy = await trained();
  });

  it.each(["open", "write", "close"] as const)(
    "in %s holds nothing up: training ends, others have everything, the rest waits on disk",
    async (call) => {
      const [folder, spill] = [newFolder(), join(newFolder(), "spill")];
      const sink = hanging(call);
      const run = await trained({ sinks: [sink, fileSinks.jsonl?.(folder, node.fs) as Sink], spill });
      expect(run.outcome).toBe("completed");
      expect(run.numbers).toEqual(quiet.numbers);
      const total = healthy.kept.length;
      expect(run.kept.map(shared)).toEqual(healthy.kept.map(shared));
      expect(linesOf(join(folder, "jsonl", "metrics.jsonl")).map(shared)).toEqual(healthy.kept.map(shared));
      const { written, spilled, lost, waiting } = run.state("hanging");
      expect({ lost, waiting, all: written + spilled }).toEqual({ lost: 0, waiting: 0, all: total });
      expect(written).toBe(sink.held.length);
      expect(written > 0).toBe(call !== "open");
      expect(spilled > 0).toBe(call !== "close");
      expect(run.said[0]).toMatch(/^sink "hanging" fails: no answer for 0.005 s/);
    },
  );

  it("without a place on disk: what it does not take is counted and said", async () => {
    const run = await trained({ sinks: [hanging("write")], delivery: { records: 7 } });
    expect(run.numbers).toEqual(quiet.numbers);
    const { written, lost, waiting } = run.state("hanging");
    expect({ waiting, all: written + lost }).toEqual({ waiting: 0, all: healthy.kept.length });
    expect(run.said.at(-1)).toBe(`sink "hanging" is missing ${lost} values of ${written + lost}`);
  });
});

it("limits that do not exist are refused", () => {
  expect(() => new Logger({ sinks: [], delivery: { retries: 3 } as object })).toThrow(/OPTION_UNKNOWN/);
});
