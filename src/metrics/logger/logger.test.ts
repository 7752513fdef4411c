import { describe, expect, it } from "vitest";
import { CheckpointManager, memoryStore } from "../../checkpoint/index.ts";
import { manualClock } from "../../core/index.ts";
import { put } from "../../engine/index.ts";
import { failureOf } from "../../hooks/hooks.test-support.ts";
import { type Counters, every, never, noCounters } from "../../schedule/index.ts";
import { sameState } from "../../state/index.ts";
import { declareMetric } from "../metric.ts";
import { type Histogram, isHistogram, type MetricRecord } from "../record.ts";
import type { Sink, SinkOptions } from "../sinks/sink.ts";
import { Logger, type LoggerOptions } from "./logger.ts";

type Kept = Sink & { readonly records: MetricRecord[]; readonly windows: (readonly MetricRecord[])[] };

function keep(choice: SinkOptions = {}): Kept {
  const records: MetricRecord[] = [];
  const windows: (readonly MetricRecord[])[] = [];
  return {
    ...choice,
    name: choice.name ?? "kept",
    records,
    windows,
    write: (given) => {
      records.push(...given);
      windows.push(given);
    },
  };
}

const made = (sink: Sink | readonly Sink[], more: Partial<LoggerOptions> = {}): Logger =>
  new Logger({ sinks: Array.isArray(sink) ? sink : [sink as Sink], clock: manualClock(), ...more });

const at = (steps: number, more: Partial<Counters> = {}): Counters =>
  ({ ...noCounters, steps, updates: steps, batches: steps, ...more }) as Counters;

const brief = ({ key, step, value }: MetricRecord): string => `${key}@${step}=${JSON.stringify(value)}`;

describe("windows", () => {
  it("give one value a metric when they end, and the rest at the end of the run", async () => {
    const sink = keep();
    const logger = made(sink);
    for (let step = 1; step <= 250; step++) logger.log({ loss: step }, step);
    expect(sink.records.map(brief)).toEqual(["train/loss@100=50.5", "train/loss@200=150.5"]);
    await logger.close();
    expect(sink.records.map(brief)[2]).toBe("train/loss@250=225.5");
    expect(sink.records.map(({ count }) => count)).toEqual([100, 100, 50]);
  });

  it("end with all values of their last step, whoever comes first", () => {
    const sink = keep();
    const logger = made(sink);
    for (let step = 1; step <= 101; step++) {
      logger.as("a").log({ first: step }, step);
      logger.as("b").log({ second: step }, step, "rollout");
    }
    expect(sink.records.map(brief)).toEqual(["train/first@100=50.5", "rollout/second@100=50.5"]);
  });

  it.each([every({ steps: 100 }), every({ seconds: 1 }), every({ updates: 3 })])(
    "never end within a step: updates belong to the rollout that they follow",
    async (schedule) => {
      const sink = keep({ schedule });
      const logger = made(sink);
      let updates = 0;
      for (let epoch = 1; epoch <= 3; epoch++) {
        const seconds = 2 * epoch;
        const now = () => at(128 * epoch, { updates, batches: updates, epochs: epoch - 1, seconds });
        logger.log({ return: epoch }, now(), "rollout");
        for (let i = 0; i < 4; i++) {
          updates++;
          logger.log({ loss: updates }, now());
        }
      }
      await logger.close();
      expect(sink.windows.map((window) => window.map(brief))).toEqual([
        ["rollout/return@128=1", "train/loss@128=2.5"],
        ["rollout/return@256=2", "train/loss@256=6.5"],
        ["rollout/return@384=3", "train/loss@384=10.5"],
      ]);
    },
  );

  it("are each sink's own", async () => {
    const often = keep({ name: "often", schedule: every({ steps: 2 }) });
    const seldom = keep({ name: "seldom", schedule: every({ epochs: 1 }) });
    const logger = made([often, seldom]);
    for (let step = 1; step <= 5; step++) logger.log({ loss: step }, at(step, { epochs: step > 2 ? 1 : 0 }));
    await logger.close();
    expect(often.records.map(brief)).toEqual(["train/loss@2=1.5", "train/loss@4=3.5", "train/loss@5=5"]);
    expect(seldom.records.map(brief)).toEqual(["train/loss@3=2", "train/loss@5=4.5"]);
  });

  it("have what their sinks have chosen", async () => {
    const sink = keep({ categories: ["train"], metrics: ["train/loss*", "train/grad/norm"] });
    const logger = made(sink);
    logger.log({ loss: 1, "loss.policy": 2, other: 3, "grad/norm": 4 }, 1);
    logger.log({ loss: 5 }, 1, "validation");
    await logger.close();
    expect(sink.records.map(({ key }) => key)).toEqual([
      "train/loss",
      "train/loss.policy",
      "train/grad/norm",
    ]);
  });

  it("reduce as declared", async () => {
    const sink = keep();
    const names = ["mean", "last", "sum", "min", "max", "rate", "histogram"] as const;
    const logger = made(sink, {
      metrics: names.map((reduction) => declareMetric({ name: reduction, reduction, unit: "points" })),
    });
    for (const [i, value] of [3, 1, 2].entries())
      logger.log(Object.fromEntries(names.map((name) => [name, value])), at(i + 1, { seconds: i + 1 }));
    await logger.close();
    const of = (name: string): MetricRecord =>
      sink.records.find((record) => record.name === name) as MetricRecord;
    expect(names.slice(0, 6).map((name) => of(name).value)).toEqual([2, 2, 6, 1, 3, 2]);
    expect(of("mean").unit).toBe("points");
    const { count, min, max, counts } = of("histogram").value as Histogram;
    expect([count, min, max, counts.filter((n) => n > 0)]).toEqual([3, 1, 3, [1, 1, 1]]);
  });

  it("are filed under the counter that is declared", async () => {
    const sink = keep();
    const logger = made(sink, { metrics: [declareMetric({ name: "reward", axis: "samples" })] });
    logger.log({ reward: 1, loss: 1 }, at(3, { samples: 96 }));
    await logger.close();
    expect(sink.records.map(({ step, axis }) => [step, axis])).toEqual([
      [96, "samples"],
      [3, "steps"],
    ]);
  });
});

describe("values", () => {
  it("that are not finite are kept and counted", async () => {
    const sink = keep();
    const logger = made(sink);
    for (const value of [1, Number.NaN, Number.POSITIVE_INFINITY]) logger.log({ a: value }, 1);
    logger.log({ b: Number.NEGATIVE_INFINITY }, 1);
    await logger.close();
    expect(sink.records.map(({ value, count, notFinite }) => [value, count, notFinite])).toEqual([
      [Number.NaN, 3, 2],
      [Number.NEGATIVE_INFINITY, 1, 1],
    ]);
  });

  it("that come late are filed under their own step", async () => {
    const sink = keep();
    const logger = made(sink);
    for (let step = 1; step <= 101; step++) logger.log({ loss: 1 }, step);
    logger.log({ score: 7 }, 40, "other");
    logger.log({ score: 9 }, 40, "other");
    logger.log({ score: 5 }, 20, "other");
    logger.log({ loss: 3 }, 102);
    await logger.close();
    expect(sink.records.map(brief)).toEqual([
      "train/loss@100=1",
      "other/score@20=5",
      "other/score@40=8",
      "train/loss@102=2",
    ]);
  });

  it("on a device are read when a window ends, in order with the others", async () => {
    const sink = keep({ schedule: every({ steps: 2 }) });
    const logger = made(sink);
    logger.log({ loss: put(1, { engine: "wasm" }), text: "hello" }, 1);
    logger.log({ loss: 3 }, 2);
    logger.log({ loss: put([4], { engine: "wasm" }), many: put([1, 2, 3], { engine: "wasm" }) }, 3);
    expect(sink.records).toEqual([]);
    await logger.close();
    expect(sink.records.filter((record) => !isHistogram(record)).map(brief)).toEqual([
      'train/text@1="hello"',
      "train/loss@2=2",
      "train/loss@3=4",
    ]);
    expect(sink.records.find(isHistogram)?.value.sum).toBe(6);
  });

  it("that are stacked are the same as one by one", async () => {
    const [one, stacked] = [keep({ schedule: every({ steps: 3 }) }), keep({ schedule: every({ steps: 3 }) })];
    const [first, second] = [made(one), made(stacked)];
    const numbers = Float32Array.from({ length: 10 }, (_, i) => Math.sin(i));
    for (let i = 0; i < 10; i++) first.log({ loss: numbers[i] as number }, at(i + 1));
    const values = { loss: put(numbers, { engine: "wasm" }) };
    second.as("program").logRows({ values, rows: 4, at: (row) => at(row + 1) });
    const rest = { loss: put(numbers.slice(4), { engine: "wasm" }) };
    second.as("program").logRows({ values: rest, rows: 6, at: (row) => at(row + 5) });
    await Promise.all([first.close(), second.close()]);
    expect(stacked.records).toEqual(one.records);
    expect(stacked.records.map(({ step }) => step)).toEqual([3, 6, 9, 10]);
  });

  it("that are NaN are none, where whoever logs rows says so", async () => {
    const values = { return: put(Float32Array.of(Number.NaN, 4, Number.NaN, 6), { engine: "wasm" }) };
    const logged = async (nanIsNone: boolean) => {
      const sink = keep();
      const logger = made(sink);
      logger.as("hook").logRows({ values, rows: 4, at: (row) => at(row + 1), nanIsNone }, "rollout");
      await logger.close();
      return sink.records.map(({ value, count }) => [value, count]);
    };
    expect(await logged(true)).toEqual([[5, 2]]);
    expect(await logged(false)).toEqual([[Number.NaN, 4]]);
  });

  it("that are gone from their device are missed, and no others", async () => {
    const sink = keep();
    const warnings: string[] = [];
    const logger = made(sink, { warn: (text) => warnings.push(text) });
    const gone = put(1, { engine: "wasm" });
    logger.log({ gone, loss: put(2, { engine: "wasm" }) }, 1);
    gone.dispose();
    expect((await logger.close()).unreadable).toBe(1);
    expect(sink.records.map(brief)).toEqual(["train/loss@1=2"]);
    expect(warnings.join()).toMatch(/disposed/);
  });

  it("that cannot be logged are refused by name, and the others of the call are taken", async () => {
    const sink = keep();
    const logger = made(sink);
    const cases: readonly unknown[] = [{ a: 1 }, () => 1, Symbol("x"), [1, "two"], new Map()];
    for (const [i, value] of cases.entries()) {
      const error = failureOf(() => logger.log({ before: 1, bad: value, after: i }, 1));
      expect([error.code, error.message]).toEqual(["METRIC_VALUE", expect.stringContaining("train/bad")]);
      expect(error.fix).toBeDefined();
    }
    logger.log({ nothing: undefined, nil: null, big: 3n, truth: true }, 1);
    const { missing } = await logger.close();
    expect(missing).toBe(2);
    expect(sink.records.map(brief)).toEqual([
      "train/before@1=1",
      "train/after@1=2",
      "train/big@1=3",
      "train/truth@1=1",
    ]);
    expect(failureOf(() => logger.log({ before: "text" }, 1)).message).toMatch(/has been a number.*a text/);
  });

  it("of huge arrays take bounded room", async () => {
    const sink = keep();
    const logger = made(sink);
    logger.log({ weights: Float32Array.from({ length: 1_000_000 }, (_, i) => Math.tan(i)) }, 1);
    await logger.close();
    const [{ value, count }] = sink.records as [MetricRecord];
    expect(count).toBe(1_000_000);
    expect((value as Histogram).counts.reduce((a, b) => a + b)).toBe(1_000_000);
    expect((value as Histogram).edges.length).toBeLessThan(2000);
  });

  it("need a step that is one", () => {
    const logger = made(keep());
    for (const step of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(failureOf(() => logger.log({ a: 1 }, step)).code).toBe("STEP_INVALID");
  });
});

describe("metrics", () => {
  it("have one writer: a second is refused, and both are named", () => {
    const logger = made(keep());
    logger.as("progress").log({ reward: 1 }, 1);
    logger.as("evaluation").log({ reward: 1 }, 1, "evaluation");
    const error = failureOf(() => logger.as("evaluation").log({ reward: 2 }, 1));
    expect(error.code).toBe("METRIC_TWO_WRITERS");
    expect(error.message).toMatch(/"reward".*"train".*"progress".*"evaluation"/);
    const declared = made(keep(), { metrics: [declareMetric({ name: "x", owner: "mine" })] });
    expect(failureOf(() => declared.log({ x: 1 }, 1)).message).toMatch(/"mine".*"program"/);
  });

  it("have keys that no sink stumbles over, each its own, and keep their names", async () => {
    const sink = keep();
    const logger = made(sink);
    const names = [
      "loss (mean)",
      "loss [mean]",
      "a/b",
      "/a//b/",
      "<b>x</b>",
      "line\nbreak",
      "..",
      "Loss",
      "loss",
    ];
    logger.log(Object.fromEntries(names.map((name, i) => [name, i])), 1);
    logger.log({ b: 1 }, 1, "train/a");
    await logger.close();
    expect(sink.records.map(({ name }) => name)).toEqual([...names, "b"]);
    const keys = sink.records.map(({ key }) => key);
    expect(new Set(keys.map((key) => key.toLowerCase())).size).toBe(keys.length);
    for (const key of keys) expect(key).toMatch(/^[\p{L}\p{N}_.\-/]+$/u);
    expect(keys.slice(0, 4)).toEqual(["train/loss_mean_", "train/loss_mean__2", "train/a/b", "train/a/b_2"]);
  });

  it("may be a thousand in one call, but not without end", async () => {
    const sink = keep();
    const logger = made(sink);
    const values = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${from + i}`, i]));
    logger.log(values(0, 1000), 1);
    await logger.flush();
    expect(sink.records).toHaveLength(1000);
    expect(failureOf(() => logger.log(values(1000, 100_000), 2)).code).toBe("METRICS_TOO_MANY");
  });

  it("are declared in words that make sense", () => {
    expect(failureOf(() => declareMetric({ name: "" })).code).toBe("OPTION_INVALID");
    expect(failureOf(() => declareMetric({ name: "a", reduction: "average" as never })).message).toMatch(
      /average/,
    );
    expect(failureOf(() => declareMetric({ name: "a", units: "s" } as never)).code).toBe("OPTION_UNKNOWN");
    const logger = made(keep(), { metrics: [declareMetric({ name: "note", reduction: "max" })] });
    expect(failureOf(() => logger.log({ note: "text" }, 1)).code).toBe("METRIC_VALUE");
  });
});

describe("values of a metric that is not reduced", () => {
  it("are records of their own, at their steps, before whatever their window comes to", async () => {
    const [often, seldom] = [keep(), keep({ name: "seldom", schedule: every({ epochs: 1 }) })];
    const logger = made([often, seldom], {
      metrics: [
        declareMetric({ name: "exam", reduction: "none" }),
        declareMetric({ name: "kept", category: "validation", reduction: "max" }),
      ],
    });
    for (let step = 1; step <= 12; step++) {
      logger.log({ loss: step, exam: step % 4 === 0 ? 10 * step : undefined }, step);
      if (step % 5 === 0)
        logger.log(
          { accuracy: step / 100, kept: step, note: `at ${step}`, many: [step, 0] },
          step,
          "validation",
        );
    }
    logger.log({ return: 7 }, 10, "evaluation");
    logger.log({ return: 9 }, 10, "evaluation");
    expect(logger.latest()).toMatchObject({ "evaluation/return": 9, "validation/accuracy": 0.1 });
    await logger.close();
    const expected = [
      ...["train/exam@4=40", "validation/accuracy@5=0.05", 'validation/note@5="at 5"', "train/exam@8=80"],
      ...["validation/kept@10=10", "validation/accuracy@10=0.1", 'validation/note@10="at 10"'],
      ...["evaluation/return@10=7", "evaluation/return@10=9", "train/loss@12=6.5", "train/exam@12=120"],
    ];
    for (const { records } of [often, seldom]) {
      expect(records.filter((record) => !isHistogram(record)).map(brief)).toEqual(expected);
      expect(records.filter(isHistogram).map(({ step, value }) => [step, value.sum])).toEqual([
        [5, 5],
        [10, 10],
      ]);
      for (const { key, count, reduction } of records)
        if (key === "validation/accuracy" || key === "train/exam")
          expect([count, reduction]).toEqual([1, "none"]);
    }
  });

  it("come from the device as those do that are reduced", async () => {
    const sink = keep({ schedule: every({ steps: 3 }) });
    const logger = made(sink);
    for (let step = 1; step <= 7; step++)
      logger.log({ accuracy: put(step / 8, { engine: "wasm" }) }, step, "validation");
    await logger.close();
    expect(sink.records.map(brief)).toEqual(
      Array.from({ length: 7 }, (_, i) => `validation/accuracy@${i + 1}=${(i + 1) / 8}`),
    );
  });

  it("stand under their own step however late they come", async () => {
    const sink = keep({ schedule: every({ steps: 10 }) });
    const logger = made(sink);
    for (let step = 1; step <= 31; step++) {
      logger.log({ loss: 1 }, step);
      if (step === 15) logger.log({ return: 2 }, 10, "evaluation");
      if (step === 25) logger.log({ return: 3 }, 20, "evaluation");
      if (step === 27) logger.log({ return: 1 }, 5, "evaluation");
    }
    expect(logger.latest()["evaluation/return"]).toBe(3);
    await logger.close();
    expect(sink.records.filter(({ name }) => name === "return").map(brief)).toEqual([
      ...["evaluation/return@10=2", "evaluation/return@5=1", "evaluation/return@20=3"],
    ]);
  });

  it("take no more room the longer a window is, and none is lost", async () => {
    const sink = keep({ schedule: never() });
    const logger = made(sink);
    const held = async (): Promise<number> => JSON.stringify(await logger.getState()).length;
    const most = 1000 * JSON.stringify(at(20_000)).length * 10;
    for (let step = 1; step <= 20_000; step++) {
      logger.log({ accuracy: step }, at(step), "validation");
      if (step % 999 === 0) expect(await held()).toBeLessThan(most);
    }
    // At one step, where a window does not end by itself.
    for (let i = 1; i <= 20_000; i++) logger.log({ accuracy: -i }, at(20_000), "validation");
    expect(sink.records.length).toBeGreaterThan(30_000);
    await logger.close();
    expect(sink.records.map(({ value }) => value)).toEqual([
      ...Array.from({ length: 20_000 }, (_, i) => i + 1),
      ...Array.from({ length: 20_000 }, (_, i) => -i - 1),
    ]);
  });

  it("of a run saved when they were averaged are filed as they were saved", async () => {
    const old = made(keep(), {
      metrics: [declareMetric({ name: "accuracy", category: "validation", reduction: "mean" })],
    });
    for (const step of [1, 2]) old.log({ accuracy: step }, at(step), "validation");
    const sink = keep();
    const logger = made(sink);
    logger.setState(await old.getState());
    logger.log({ accuracy: 7 }, at(3), "validation");
    await logger.close();
    expect(sink.records.map(brief)).toEqual(["validation/accuracy@2=1.5", "validation/accuracy@3=7"]);
  });
});

describe("a logger's state", () => {
  const run = (logger: Logger, from: number, to: number): void => {
    for (let step = from; step <= to; step++) {
      logger.log({ loss: step / 7, note: `at ${step}`, many: [step, -step] }, at(step));
      const late = at(step > 20 ? step - 20 : step);
      logger.as("other").log({ late: 1 / step }, late, "rollout");
      if (step % 3 === 0) logger.as("other").log({ late: 1 / step, many: [step, 1] }, late, "evaluation");
    }
  };
  const schedule = every({ steps: 10 });

  it("lets windows go on as if nothing had happened, through files too", async () => {
    const [whole, before, after] = [keep({ schedule }), keep({ schedule }), keep({ schedule })];
    const uninterrupted = made(whole);
    run(uninterrupted, 1, 57);
    await uninterrupted.close();

    const first = made(before);
    run(first, 1, 34);
    const manager = new CheckpointManager({ store: memoryStore() });
    await manager.save({ logger: first }, { counters: {} });
    const second = made(after);
    await manager.restore({ logger: second }, await manager.load((await manager.latest())?.name ?? ""));
    expect(await sameState(await first.getState(), await second.getState())).toBe(true);
    run(second, 35, 57);
    await second.close();
    expect([...before.records, ...after.records]).toEqual(whole.records);
  });

  it("has what was logged before it was asked for, and nothing after", async () => {
    const sink = keep({ schedule });
    const logger = made(sink);
    logger.log({ loss: put(1, { engine: "wasm" }) }, at(1));
    const state = logger.getState();
    logger.log({ loss: put(100, { engine: "wasm" }) }, at(2));
    const other = made(keep({ schedule }));
    other.log({ loss: 1 }, at(1));
    expect(await sameState(await state, await other.getState())).toBe(true);
  });

  it("is refused where it is something else", () => {
    expect(failureOf(() => made(keep()).setState({ a: 1 })).code).toBe("STATE_INVALID");
  });
});

it("two sinks of one name are refused, and one can come later", async () => {
  expect(failureOf(() => made([keep(), keep()])).code).toBe("SINK_NAME_TAKEN");
  const [first, later] = [keep(), keep({ name: "later", schedule: every({ steps: 5 }) })];
  const logger = made(first);
  logger.log({ a: 1 }, 1);
  logger.add(later);
  logger.log({ a: 3 }, 2);
  await logger.close();
  expect([first, later].map(({ records }) => records.map(({ value }) => value))).toEqual([[2], [3]]);
});

it("two sinks of one file are refused by both names", () => {
  const file = { path: "/runs/a.jsonl" };
  const { code, message } = failureOf(() =>
    made([
      { ...keep(), ...file },
      { ...keep({ name: "b" }), ...file },
    ]),
  );
  expect(code).toBe("SINK_PATH_TAKEN");
  expect(message).toMatch(/"kept" and "b" both write \/runs\/a.jsonl/);
  made([
    { ...keep(), ...file },
    { ...keep({ name: "b" }), path: "/runs/b.jsonl" },
    keep({ name: "c" }),
    keep({ name: "d" }),
  ]);
});

describe("a sink whose choice fits nothing", () => {
  const said = async (
    choice: SinkOptions,
    values: object = { loss: 1 },
    outcome?: "completed" | "failed",
  ) => {
    const warnings: string[] = [];
    const logger = made(keep(choice), { warn: (text) => void warnings.push(text) });
    logger.log(values as Record<string, number>, 1);
    await logger.close(outcome && { outcome });
    return warnings;
  };
  it.each<[SinkOptions, string]>([
    [{ metrics: ["train/lsos"] }, 'metrics: ["train/lsos"]; did you mean "train/loss"?'],
    [{ categories: ["trian"] }, 'categories: ["trian"]; did you mean "train"?'],
    [
      { metrics: ["train/los"], categories: ["train"] },
      'categories: ["train"] and metrics: ["train/los"]; did you mean "train/loss"?',
    ],
    [{ metrics: ["*/accuracy*"] }, 'metrics: ["*/accuracy*"]'],
  ])("is told of at the end: %j", async (choice, text) => {
    expect(await said(choice)).toEqual([`sink "kept" got nothing: no metric of the run fits ${text}`]);
  });
  it("is not, where it got something, where nothing was logged, and where the run ended early", async () => {
    expect(await said({ metrics: ["train/los", "train/loss"] })).toEqual([]);
    expect(await said({ categories: ["train", "validation"] })).toEqual([]);
    expect(await said({ metrics: ["train/los"] }, {})).toEqual([]);
    expect(await said({ categories: ["evaluation"] }, { loss: 1 }, "failed")).toEqual([]);
  });
});

it("-0 stays what it is, whatever the reduction", async () => {
  const sink = keep();
  const names = ["mean", "last", "sum", "min", "max"] as const;
  const metrics = names.map((name) => declareMetric({ name, reduction: name }));
  const logger = made(sink, { metrics });
  for (const step of [1, 2]) logger.log(Object.fromEntries(names.map((name) => [name, -0])), step);
  await logger.close();
  expect(sink.records.map(({ value }) => Object.is(value, -0))).toEqual(names.map(() => true));
});
