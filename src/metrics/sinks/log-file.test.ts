import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EspalierError, manualClock } from "../../core/index.ts";
import { checkSink } from "../../testing/index.ts";
import { countersAt, progressAt, recordOf, runInfo, windowOf } from "./console/records.test-support.ts";
import { type LogFileOptions, logFileSink } from "./log-file.ts";
import type { Sink } from "./sink.ts";

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), "log-file-"));
});
afterEach(() => {
  fs.rmSync(folder, { recursive: true });
});

const day = Date.UTC(2026, 0, 31);
const clock = manualClock(day + 60_000);
const ending = { outcome: "completed", counters: countersAt(2000) } as const;
const lines = (path: string): readonly string[] => fs.readFileSync(path, "utf8").split("\n").slice(0, -1);

/** A disk that takes so many bytes and no more, until room is made. */
function disk(room: number) {
  const state = { room, refused: (): void => undefined };
  const files: LogFileOptions["files"] = {
    ...fs,
    // Of the many ways to call it, the one that is used.
    writeSync: ((file: number, bytes: Uint8Array, from: number, length: number) => {
      const fits = Math.min(length, state.room);
      if (fits === 0) {
        state.refused();
        throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      }
      state.room -= fits;
      return fs.writeSync(file, bytes, from, fits);
    }) as typeof fs.writeSync,
  };
  return { state, files };
}

function failure(call: () => unknown): EspalierError {
  try {
    call();
  } catch (error) {
    if (error instanceof EspalierError) return error;
  }
  throw new Error("it did not fail with an EspalierError");
}

describe("the log file", () => {
  it("has a line with its time for each window, each message and the end, at once", () => {
    const path = join(folder, "a", "b", "run.log");
    const sink = logFileSink(path, { clock });
    sink.open?.(runInfo);
    expect(lines(path)).toEqual(["2026-01-31T00:00:00.000Z  run mnist (mnist-7f3a)"]);
    sink.progress?.(progressAt(1000, { rate: 12_345 }));
    sink.write(windowOf(1000, { "train/accuracy": 0.98, "train/loss": 0.12341 }));
    expect(lines(path).at(-1)).toBe(
      "2026-01-31T00:00:01.000Z  step 1000  train/loss 0.1234  train/accuracy 0.98  12.3k steps/s",
    );
    sink.message?.("saved\n\x1b[2Jtwice");
    sink.close?.(ending);
    expect(lines(path).slice(2)).toEqual([
      "2026-01-31T00:01:00.000Z  saved",
      "2026-01-31T00:01:00.000Z  \\x1b[2Jtwice",
      "2026-01-31T00:01:00.000Z  completed: 2000 steps, 64000 samples in 2.0 s",
    ]);
  });

  it("has all metrics of a window", () => {
    const path = join(folder, "run.log");
    const values = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`train/m${i}`, i]));
    logFileSink(path).write(windowOf(1, values));
    expect(lines(path)[0]?.split("  ").length).toBe(2 + 50);
  });

  it("is appended to by a resumed run, which says so", () => {
    const path = join(folder, "run.log");
    logFileSink(path, { clock }).write(windowOf(1000, { "train/loss": 0.5 }));
    const sink = logFileSink(path, { clock });
    sink.open?.({ ...runInfo, resumedAt: countersAt(1000) });
    sink.write(windowOf(2000, { "train/loss": 0.25 }));
    expect(lines(path)).toEqual([
      "2026-01-31T00:00:01.000Z  step 1000  train/loss 0.5",
      "2026-01-31T00:00:00.000Z  run mnist (mnist-7f3a), resumed after 1000 steps, 32000 samples",
      "2026-01-31T00:00:02.000Z  step 2000  train/loss 0.25",
    ]);
  });

  it("is begun anew where it was moved away", () => {
    const path = join(folder, "run.log");
    const sink = logFileSink(path);
    sink.write(windowOf(1, { "train/loss": 0.5 }));
    fs.renameSync(path, `${path}.1`);
    sink.write(windowOf(2, { "train/loss": 0.5 }));
    expect([lines(path).length, lines(`${path}.1`).length]).toEqual([1, 1]);
  });
});

describe("the suite of sinks", () => {
  const disks = new Map<string, ReturnType<typeof disk>>();
  const diskOf = (place: string) => {
    const found = disks.get(place) ?? disk(Number.POSITIVE_INFINITY);
    disks.set(place, found);
    return found;
  };
  const make = (place: string): Sink => logFileSink(join(folder, place), { files: diskOf(place).files });
  const breakNext = (place: string): void => {
    const { state } = diskOf(place);
    // Of the next call a part is written; there is room again once it has failed.
    state.room = 20;
    state.refused = () => {
      state.room = Number.POSITIVE_INFINITY;
    };
  };
  for (const { name, run } of checkSink(make, { breakNext })) it(name, run);
});

describe("a log file that cannot be written", () => {
  it("is an error that names it and what to do", () => {
    fs.writeFileSync(join(folder, "file"), "");
    const path = join(folder, "file", "run.log");
    const error = failure(() => logFileSink(path).open?.(runInfo));
    expect(error.code).toBe("SINK_UNWRITABLE");
    expect(error.message).toContain(path);
    expect(error.fix).toContain("give the path of a file");
    expect(failure(() => logFileSink(folder).open?.(runInfo)).code).toBe("SINK_UNWRITABLE");
  });

  it("says whose directory must be made writable", () => {
    const forbidden = (): never => {
      throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
    };
    const sink = logFileSink(join(folder, "run.log"), { files: { ...fs, openSync: forbidden } });
    const error = failure(() => sink.open?.(runInfo));
    expect(error.code).toBe("SINK_UNWRITABLE");
    expect(error.fix).toContain(`make ${folder} writable`);
    expect(error.cause).toMatchObject({ code: "EACCES" });
  });

  it("keeps messages until it can, in their order", () => {
    const { state, files } = disk(0);
    const path = join(folder, "run.log");
    const sink = logFileSink(path, { clock, files });
    sink.message?.("first");
    sink.message?.("second");
    state.room = 30;
    sink.message?.("third");
    state.room = 1000;
    sink.write(windowOf(1000, { "train/loss": 0.5 }));
    expect(lines(path).map((line) => line.slice(26))).toEqual([
      "first",
      "second",
      "third",
      "step 1000  train/loss 0.5",
    ]);
  });

  it("gets each line once, however little of it the disk takes at a time", () => {
    const { state, files } = disk(0);
    const path = join(folder, "run.log");
    const sink = logFileSink(path, { clock, files });
    const records = [
      ...windowOf(1000, { "train/loss": 0.5 }),
      ...windowOf(2000, { "train/loss": 0.25 }),
      recordOf("train/loss", Number.NaN, 3000),
    ];
    const calls: ((sink: Sink) => unknown)[] = [
      () => sink.open?.(runInfo),
      () => sink.write(records),
      () => sink.close?.(ending),
    ];
    let failures = 0;
    for (const call of calls)
      for (let done = false; !done; )
        try {
          call(sink);
          done = true;
        } catch {
          failures++;
          state.room = 7;
          // What is shown beside the metrics may change meanwhile.
          sink.progress?.(progressAt(failures));
          clock.advance(1);
        }
    expect(failures).toBeGreaterThan(20);
    expect(lines(path).map((line) => line.slice(26))).toEqual(
      [
        "run mnist (mnist-7f3a)",
        "step 1000  train/loss 0.5",
        "step 2000  train/loss 0.25",
        "step 3000  train/loss NaN (! not finite)",
        "completed: 2000 steps, 64000 samples in 2.0 s",
      ].map((line) => (line.startsWith("step") ? expect.stringContaining(line) : line)),
    );
  });

  it("has other lines on lines of their own where one was not finished", () => {
    const { state, files } = disk(30);
    const path = join(folder, "run.log");
    const sink = logFileSink(path, { clock, files });
    expect(() => sink.write(windowOf(1000, { "train/loss": 0.5 }))).toThrow("free some room");
    state.room = 1000;
    sink.write(windowOf(2000, { "train/loss": 0.25 }));
    expect(lines(path)).toEqual([
      "2026-01-31T00:00:01.000Z  step",
      "2026-01-31T00:00:02.000Z  step 2000  train/loss 0.25",
    ]);
  });

  it.each([[""], [undefined], [3]])("refuses the path %j", (path) => {
    expect(failure(() => logFileSink(path as string)).code).toBe("OPTION_INVALID");
  });

  it("refuses options it does not have", () => {
    expect(failure(() => logFileSink("run.log", { name: "mine", ...{ color: true } })).code).toBe(
      "OPTION_UNKNOWN",
    );
  });
});
