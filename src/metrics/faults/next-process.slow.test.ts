import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { jsonlSink, type MetricRecord, openStatsStore, type Sink, statsStoreSink } from "../index.ts";
import { faultyFiles } from "../sinks/faulty-files.test-support.ts";
import { linesOf, newFolder, schedule, shared, type Trained, trained } from "./run.test-support.ts";

/** A sink in memory that may be down, as a service would be. */
class Service implements Sink {
  readonly name = "service";
  readonly schedule = schedule;
  readonly held: MetricRecord[] = [];
  down = false;
  open(): void {
    if (this.down) throw new Error("down");
  }
  write(records: readonly MetricRecord[]): void {
    if (this.down) throw new Error("down");
    this.held.push(...records);
  }
}

const stopped = 155;
const later = 1_700_000_900_000;

describe("what a process leaves on disk, the next of the run brings", () => {
  let whole: Trained;
  beforeAll(async () => {
    whole = await trained();
  });

  /** Both halves of a run in one folder; `sinks` makes those of the first or the second. */
  async function halves(sinks: (second: boolean) => readonly Sink[], down: (at: 0 | 100) => void) {
    const folder = newFolder();
    const [spill, checkpoints] = [join(folder, "spill"), join(folder, "checkpoints")];
    down(0);
    const first = await trained({
      sinks: sinks(false),
      ...{ spill, checkpoints, maxUpdates: stopped, after: { 100: () => down(100) } },
    });
    const second = await trained({ sinks: sinks(true), spill, checkpoints, wall: later });
    expect(second.numbers).toEqual(whole.numbers);
    return { first, second, spill };
  }

  it.each([0, 100] as const)("a service that is down from update %i on", async (from) => {
    const [broken, works] = [new Service(), new Service()];
    const { first, second, spill } = await halves(
      (isSecond) => [isSecond ? works : broken],
      (at) => {
        broken.down ||= at === from;
      },
    );
    const { written, spilled, lost } = first.state("service");
    expect({ lost, all: written + spilled }).toEqual({ lost: 0, all: first.kept.length });
    expect(spilled).toBeGreaterThan(5);
    expect(second.state("service")).toMatchObject({ waiting: 0, spilled: 0, lost: 0 });
    expect(existsSync(join(spill, "service.faulty.jsonl"))).toBe(false);
    expect([...broken.held, ...works.held].map(shared)).toEqual(whole.kept.map(shared));
  });

  it.each([0, 100] as const)("a file whose disk is full from update %i on", async (from) => {
    const path = join(newFolder(), "metrics.jsonl");
    const files = faultyFiles();
    const { first } = await halves(
      (isSecond) => [jsonlSink(path, isSecond ? { schedule } : { schedule, files })],
      (at) => {
        if (at === from) files.fail(7, Number.POSITIVE_INFINITY);
      },
    );
    expect(first.state("jsonl").spilled).toBeGreaterThan(5);
    expect(linesOf(path).map(shared)).toEqual(whole.kept.map(shared));
  });

  it.each([0, 100] as const)("a stats store that cannot be reached from update %i on", async (from) => {
    const store = await openStatsStore(join(newFolder(), "stats.db"));
    let isDown = false;
    const sink = (mayFail: boolean): Sink => {
      const inner = statsStoreSink(store, { schedule });
      const check = (): void => {
        if (mayFail && isDown) throw new Error("gone");
      };
      return {
        ...inner,
        open: async (run) => {
          check();
          await inner.open?.(run);
        },
        write: async (records) => {
          check();
          await inner.write(records);
        },
        close: async (ending) => {
          check();
          await inner.close?.(ending);
        },
      };
    };
    const { first } = await halves(
      (isSecond) => [sink(!isSecond)],
      (at) => {
        isDown ||= at === from;
      },
    );
    expect(first.state("stats-store").spilled).toBeGreaterThan(5);
    const { rows } = await store.since("faulty", 0);
    expect(rows.map(shared)).toEqual(whole.kept.map(shared));
    expect(await store.run("faulty")).toMatchObject({ outcome: "completed" });
    await store.close();
  });
});
