import { describe, expect, it } from "vitest";
import { EspalierError, manualClock } from "../../../core/index.ts";
import { every } from "../../../schedule/index.ts";
import { checkSink } from "../../../testing/index.ts";
import { type ConsoleOptions, consoleSink } from "./console-sink.ts";
import { countersAt, progressAt, recordOf, runInfo, windowOf } from "./records.test-support.ts";
import { Pipe, Screen } from "./screen.test-support.ts";

const ending = { outcome: "completed", counters: countersAt(4000, { epochs: 2 }) } as const;
const env = {};

function onScreen(columns = 80, options: Partial<ConsoleOptions> = {}) {
  const screen = new Screen(columns);
  const clock = manualClock();
  return { screen, clock, sink: consoleSink({ stream: screen, clock, env, unicode: false, ...options }) };
}

function onPipe(options: Partial<ConsoleOptions> = {}) {
  const pipe = new Pipe();
  return { pipe, sink: consoleSink({ stream: pipe, env, ...options }) };
}

describe("on a terminal", () => {
  it("draws the bar in place, at most ten times a second", () => {
    const { screen, clock, sink } = onScreen();
    for (let step = 0; step <= 1000; step++) {
      sink.progress?.(progressAt(step));
      clock.advance(1);
    }
    expect(screen.calls.length).toBe(11);
    expect(screen.rows()).toEqual([
      "steps 1000/4000  [#####..................]   25 %    1.2k steps/s     0:02 left",
    ]);
  });

  it("prints tables and messages above the bar, which then shows the newest progress", () => {
    const { screen, sink } = onScreen();
    sink.progress?.(progressAt(900));
    sink.progress?.(progressAt(1000));
    sink.write(windowOf(1000, { "train/loss": 0.5 }));
    sink.message?.("saved\ntwice");
    expect(screen.rows()).toEqual([
      "step 1000",
      "  train  loss   0.5000",
      "saved",
      "twice",
      "steps 1000/4000  [#####..................]   25 %    1.2k steps/s     0:02 left",
    ]);
  });

  it("removes the bar at the end and says how the run ended", async () => {
    const { screen, sink } = onScreen();
    sink.progress?.(progressAt(4000));
    await sink.close?.(ending);
    expect(screen.text()).toBe("completed: 2 epochs, 4000 steps, 128000 samples in 4.0 s");
    expect(screen.writableEnded).toBe(false);
  });

  it("leaves nothing of the bar behind when it becomes shorter", () => {
    const { screen, clock, sink } = onScreen();
    sink.progress?.(progressAt(1000));
    clock.advance(100);
    sink.progress?.(progressAt(1000, { total: undefined }));
    expect(screen.text()).toBe("steps 1000    1.2k steps/s");
  });

  it("follows the width of the terminal, also when lines above it are broken anew", () => {
    const { screen, clock, sink } = onScreen(80);
    sink.message?.("above");
    sink.progress?.(progressAt(1000));
    for (const columns of [50, 30, 100]) {
      screen.columns = columns;
      clock.advance(100);
      sink.progress?.(progressAt(1000));
      const rows = screen.rows();
      expect(rows[0]).toBe("above");
      expect(rows.length).toBe(2);
      expect(rows[1]?.length).toBeLessThan(columns);
    }
    screen.columns = 40;
    sink.message?.("below");
    expect(screen.rows()).toEqual(["above", "below", "steps 1000/4000   25 %     0:02 left"]);
  });

  it("takes 80 columns where the terminal does not know", () => {
    const { screen, sink } = onScreen(80, { color: false });
    screen.columns = 0;
    sink.progress?.(progressAt(1000));
    expect(screen.calls[0]?.replace("\x1b[K", "").length).toBe(79);
  });

  it("has colours, unless told not to", () => {
    const coloured = onScreen();
    coloured.sink.write([recordOf("train/loss", Number.NaN, 1)]);
    expect(coloured.screen.calls[0]).toContain("\x1b[1m\x1b[31m     NaN");
    for (const options of [{ env: { NO_COLOR: "1" } }, { color: false }]) {
      const plain = onScreen(80, options);
      plain.sink.write([recordOf("train/loss", Number.NaN, 1)]);
      expect(plain.screen.calls[0]).not.toContain("\x1b");
    }
  });

  it("never prints what could move the cursor", () => {
    const { screen, sink } = onScreen();
    const evil = "\x1b[2Jx\r\n\x07\x9b1A";
    sink.open?.({ ...runInfo, name: evil });
    sink.write([
      recordOf("train/x", 1, 1, { name: evil, key: evil, category: evil, unit: evil }),
      recordOf("train/y", evil, 1),
      recordOf("train/z", 1, 3, { axis: evil, wall: recordOf("", 0, 1).wall }),
    ]);
    sink.message?.(evil);
    sink.progress?.(progressAt(1, { unit: evil, total: undefined }));
    sink.close?.({ ...ending, outcome: "failed", reason: evil });
    // The screen refuses codes that it does not know; those it knows, it is checked for here.
    expect(screen.text()).toContain("\\x1b[2Jx");
    expect(screen.calls.join("")).not.toContain("\x1b[2J");
  });
});

describe("anywhere else", () => {
  it("prints one plain line for each window, and none for progress", async () => {
    const { pipe, sink } = onPipe();
    sink.open?.(runInfo);
    sink.progress?.(progressAt(1000, { rate: 12_345 }));
    sink.write(windowOf(1000, { "train/accuracy": 0.98, "train/loss": 0.12341 }));
    sink.message?.("saved");
    sink.write([
      recordOf("train/loss", Number.NaN, 2000, { count: 1000, notFinite: 3 }),
      recordOf("train/step", 12.5, 2000, { unit: "ms" }),
    ]);
    await sink.close?.({ ...ending, outcome: "stopped", reason: "no progress" });
    expect(pipe.lines).toEqual([
      "run mnist (mnist-7f3a)",
      "step 1000  train/loss 0.1234  train/accuracy 0.98  12.3k steps/s",
      "saved",
      "step 2000  train/loss NaN (! 3 of 1000 values not finite)  train/step 12.5 ms  12.3k steps/s",
      "stopped (no progress): 2 epochs, 4000 steps, 128000 samples in 4.0 s",
    ]);
  });

  it("takes windows apart that come in one call", () => {
    const { pipe, sink } = onPipe();
    sink.write([...windowOf(1000, { "train/loss": 0.5 }), ...windowOf(2000, { "train/loss": 0.25 })]);
    const { wall } = recordOf("", 0, 2000);
    sink.write([recordOf("train/loss", 3, 3000, { wall }), recordOf("train/loss", 4, 4000, { wall })]);
    expect(pipe.lines).toEqual([
      "step 1000  train/loss 0.5",
      "step 2000  train/loss 0.25",
      "step 3000  train/loss 3",
      "step 4000  train/loss 4",
    ]);
  });

  it("writes what came late with its own step", () => {
    const { pipe, sink } = onPipe();
    sink.write(windowOf(1000, { "train/loss": 0.5 }));
    sink.write([
      recordOf("train/loss", 0.25, 2000),
      recordOf("train/loss", 0.75, 900, { wall: Date.UTC(2026, 0, 31) + 2000 }),
    ]);
    expect(pipe.lines[1]).toBe("step 2000  train/loss 0.25  train/loss 0.75 (late, step 900)");
  });

  it("prints windows of a run that counts something else", () => {
    const { pipe, sink } = onPipe();
    sink.write([recordOf("eval/return", 12, 3, { axis: "episodes" })]);
    expect(pipe.lines).toEqual(["episode 3  eval/return 12"]);
  });

  it("says where a resumed run goes on", () => {
    const { pipe, sink } = onPipe();
    sink.open?.({ ...runInfo, resumedAt: countersAt(500, { epochs: 1 }) });
    expect(pipe.lines).toEqual(["run mnist (mnist-7f3a), resumed after 1 epoch, 500 steps, 16000 samples"]);
  });

  it("shows twelve metrics and how many more there are, or all that were asked for", () => {
    const values = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`train/m${i}`, i]));
    const { pipe, sink } = onPipe();
    sink.write(windowOf(1, values));
    expect(pipe.lines[0]).toMatch(/train\/m11 11 {2}and 38 more$/);
    const asked = onPipe({ metrics: ["train/m49", "train/m*"] });
    asked.sink.write(windowOf(1, values));
    expect(asked.pipe.lines[0]).toMatch(/^step 1 {2}train\/m49 49 {2}train\/m0 0 .*train\/m48 48$/);
    const few = onPipe({ limit: 1, important: ["train/m3"] });
    few.sink.write(windowOf(1, values));
    expect(few.pipe.lines).toEqual(["step 1  train/m3 3  and 49 more"]);
  });

  it("shows how training goes, and nothing of the machine unless it is asked for", () => {
    const records = windowOf(1, {
      ...{ "system/cpu.process": 0.5, "system/memory.heap": 1e8, "time/stepsPerSecond": 12 },
      ...{ "rollout/episode.length": 20, "rollout/episode.return": 7, "evaluation/return": 8 },
      ...{ "train/entropy": 0.5, "validation/accuracy": 0.9, "train/loss": 1 },
    });
    const line = (options: Partial<ConsoleOptions>, given = records) => {
      const { pipe, sink } = onPipe(options);
      sink.write(given);
      return pipe.written;
    };
    const shown =
      "step 1  train/loss 1  validation/accuracy 0.9  evaluation/return 8  rollout/episode.return 7  " +
      "train/entropy 0.5  rollout/episode.length 20";
    expect(line({})).toBe(`${shown}\n`);
    expect(line({ system: true })).toBe(
      `${shown}  system/cpu.process 0.5  system/memory.heap 1e+8  time/stepsPerSecond 12\n`,
    );
    expect(line({ important: ["system/cpu*"], limit: 2 })).toBe(
      "step 1  system/cpu.process 0.5  train/loss 1  and 5 more\n",
    );
    expect(line({ metrics: ["time/*"] }, records.slice(2, 3))).toBe("step 1  time/stepsPerSecond 12\n");
    expect(line({ categories: ["system"] }, records.slice(0, 1))).toBe("step 1  system/cpu.process 0.5\n");
    // A window of nothing else is no line.
    expect(line({}, records.slice(0, 3))).toBe("");
    const { screen, sink } = onScreen();
    sink.write(records);
    expect(screen.text()).toContain("cpu.process");
  });

  it("prints scores as they are, each on the line of its own step", () => {
    const { pipe, sink } = onPipe();
    const { wall } = recordOf("", 0, 1000);
    const score = (key: string, value: number, step: number) =>
      recordOf(key, value, step, { reduction: "none", wall });
    sink.write([
      ...[score("validation/accuracy", 0.975, 300), score("validation/loss", 0.5, 300)],
      ...[score("validation/accuracy", 0.9666, 600), score("validation/loss", 0.25, 600)],
      recordOf("train/loss", 0.125, 1000, { wall }),
      score("validation/accuracy", 0.9, 1000),
    ]);
    sink.write([score("evaluation/return", 7, 500), recordOf("train/loss", 0.1, 2000, { wall: wall + 1 })]);
    expect(pipe.lines).toEqual([
      "step 300  validation/loss 0.5  validation/accuracy 0.975",
      "step 600  validation/loss 0.25  validation/accuracy 0.9666",
      "step 1000  train/loss 0.125  validation/accuracy 0.9",
      "step 500  evaluation/return 7",
      "step 2000  train/loss 0.1",
    ]);
  });

  it("has colours only where they are forced, and never moves the cursor", () => {
    const forced = onPipe({ env: { FORCE_COLOR: "1" } });
    forced.sink.progress?.(progressAt(1));
    forced.sink.write(windowOf(1, { "train/loss": 1 }));
    expect(forced.pipe.lines).toEqual(["\x1b[1mstep 1\x1b[22m  train/loss 1  1.2k steps/s"]);
  });

  it("is also a terminal that is called dumb", () => {
    const { screen, sink } = onScreen(80, { env: { TERM: "dumb" } });
    sink.progress?.(progressAt(1000));
    sink.write(windowOf(1000, { "train/loss": 0.5 }));
    expect(screen.calls).toEqual(["step 1000  train/loss 0.5  1.2k steps/s\n"]);
  });

  it("prints nothing for a window without metrics", () => {
    const { pipe, sink } = onPipe();
    sink.write([]);
    expect(pipe.written).toBe("");
  });
});

describe.each([
  ["terminal", () => new Screen(80)],
  ["pipe", () => new Pipe()],
])("the suite of sinks on a %s", (_name, stream) => {
  for (const { name, run } of checkSink(() => consoleSink({ stream: stream(), env }))) it(name, run);
});

describe("the choice of a console", () => {
  it("is every 1000 steps, unless told otherwise", () => {
    expect(consoleSink({ env }).schedule?.describe()).toBe(every({ steps: 1000 }).describe());
    const schedule = every({ epochs: 1 });
    const chosen = consoleSink({
      schedule,
      name: "mine",
      categories: ["train"],
      metrics: ["train/loss"],
      env,
    });
    expect(chosen).toMatchObject({ schedule, name: "mine", categories: ["train"], metrics: ["train/loss"] });
  });

  it.each([
    [{ limit: -1 }, "OPTION_INVALID"],
    [{ limit: Number.NaN }, "OPTION_INVALID"],
    [{ columns: 0 }, "OPTION_INVALID"],
    [{ colour: true }, "OPTION_UNKNOWN"],
  ])("refuses %j", (options, code) => {
    const make = (): unknown => consoleSink({ env, ...options });
    expect(make).toThrow(EspalierError);
    expect(make).toThrow(code);
  });
});
