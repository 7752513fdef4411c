// The four tests that document 004 asks for, by name.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { checkpointHook } from "../checkpoint/index.ts";
import { manualClock } from "../core/index.ts";
import * as nn from "../nn/index.ts";
import { every, noCounters, type Schedule } from "../schedule/index.ts";
import { hashState } from "../state/index.ts";
import { Trainer } from "../trainer/index.ts";
import { smallTask } from "./hook/hook.test-support.ts";
import {
  consoleSink,
  jsonlSink,
  metricsHook,
  type Sink,
  SmartLogger,
  tensorBoardSink,
  wandbSink,
} from "./index.ts";
import { findOriginal as findTensorBoard } from "./sinks/tensorboard/original.test-support.ts";
import { findOriginal as findWandb } from "./sinks/wandb/original.test-support.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-004-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Line {
  readonly key: string;
  readonly category: string;
  readonly step: number;
  readonly value: number;
}
const linesIn = (path: string): Line[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

describe("Checkpoint save/load preserves exact state", () => {
  /** A run with shuffled batches, dropout and everything that the metrics hook has. */
  function made(place: string, maxUpdates = Number.POSITIVE_INFINITY) {
    const metrics = join(folder, place, "metrics.jsonl");
    const logger = new SmartLogger({ sinks: [jsonlSink(metrics, { schedule: every({ steps: 4 }) })] });
    const model = nn.sequential([nn.dense(8), nn.tanh, nn.dropout(0.2), nn.dense(2)]);
    const trainer = new Trainer({
      task: smallTask({ model, monitor: { gradients: true } }),
      config: { epochs: 6, seed: 3, maxUpdates, validateAtEnd: false, handleSignals: false },
      hooks: [
        checkpointHook({ directory: join(folder, place, "checkpoints"), schedule: every({ updates: 5 }) }),
        metricsHook({ logger, gradients: true }),
      ],
    });
    return { trainer, metrics };
  }

  async function hashesOf({ components }: Trainer): Promise<Readonly<Record<string, string>>> {
    const hashes: Record<string, string> = {};
    for (const [name, part] of Object.entries(components))
      if (name !== "time" && !name.endsWith(".time")) hashes[name] = await hashState(await part.getState());
    return hashes;
  }

  const shared = (path: string) =>
    linesIn(path)
      .filter(({ category }) => category !== "time" && category !== "system")
      .map(({ key, step, value }) => [key, step, value]);

  it("a run that is stopped in the middle and goes on ends with the bits of one in one go", async () => {
    const whole = made("whole");
    await whole.trainer.train();
    const half = made("halves", 23);
    expect((await half.trainer.train()).counters.updates).toBe(23);
    const resumed = made("halves");
    expect((await resumed.trainer.train()).counters.updates).toBe(42);
    const expected = await hashesOf(whole.trainer);
    expect(Object.keys(expected)).toEqual(expect.arrayContaining(["params", "optimizer", "hook.metrics"]));
    expect(await hashesOf(resumed.trainer)).toEqual(expected);
    expect(await hashesOf(half.trainer)).not.toEqual(expected);
    // And its metrics, none of them twice, are those of the run in one go.
    expect(shared(resumed.metrics)).toEqual(shared(whole.metrics));
    expect(shared(whole.metrics).length).toBeGreaterThan(30);
  });
});

describe("Metrics appear in CLI at correct frequency", () => {
  /** What a console that is no terminal shows, and a back end gets, of 3,500 steps. */
  async function shown(choice: { readonly console?: Schedule; readonly backEnd?: Schedule } = {}) {
    let text = "";
    const stream = new Writable({
      write(chunk, _, done) {
        text += String(chunk);
        done();
      },
    });
    const backEnd: number[] = [];
    const logger = new SmartLogger({
      sinks: [
        consoleSink({ stream, env: {}, ...(choice.console && { schedule: choice.console }) }),
        {
          name: "back end",
          ...(choice.backEnd && { schedule: choice.backEnd }),
          write: (records) =>
            void backEnd.push(...records.filter(({ name }) => name === "loss").map(({ step }) => step)),
        },
      ],
    });
    const sofar: Record<number, number> = {};
    const lines = () => text.split("\n").filter((line) => line.startsWith("step "));
    for (let step = 1; step <= 3500; step++) {
      logger.as("algorithm").log({ loss: 2 * step }, step);
      // Others log when they like: it makes no difference to when the console shows anything.
      if (step % 700 === 0) logger.as("evaluation").log({ reward: step / 700 }, step, "eval");
      sofar[step] = lines().length;
    }
    await logger.close();
    return { lines: lines(), backEnd, sofar };
  }
  const upTo = (last: number, interval: number): number[] =>
    Array.from({ length: last / interval }, (_, i) => (i + 1) * interval);

  it("every 1000 steps, the rest at the end; back ends every 100", async () => {
    const { lines, backEnd, sofar } = await shown();
    expect(lines).toEqual([
      "step 700  eval/reward 1",
      "step 1000  train/loss 1001",
      "step 1400  eval/reward 2",
      "step 2000  train/loss 3001",
      "step 2100  eval/reward 3",
      "step 2800  eval/reward 4",
      "step 3000  train/loss 5001",
      "step 3500  train/loss 6501  eval/reward 5",
    ]);
    expect(backEnd).toEqual(upTo(3500, 100));
    // Each as soon as its last step is over.
    expect([999, 1000, 1001, 2000, 2001, 3001, 3500].map((step) => sofar[step])).toEqual([
      0, 0, 2, 2, 4, 7, 7,
    ]);
  });

  it("both as often as they are told to", async () => {
    const { lines, backEnd } = await shown({
      console: every({ steps: 1500 }),
      backEnd: every({ steps: 50 }),
    });
    const windows = lines.filter((line) => line.includes("train/loss"));
    expect(windows.map((line) => Number(line.split(" ")[1]))).toEqual([1500, 3000, 3500]);
    expect(backEnd).toEqual(upTo(3500, 50));
  });

  it("what is logged as an epoch ends stands with its last step, not with the next line", async () => {
    const windows: Record<string, string[]> = { steps: [], epochs: [] };
    const sink = (name: string, schedule?: Schedule): Sink => ({
      name,
      ...(schedule && { schedule }),
      write: (records) =>
        void windows[name]?.push(records.map(({ key, step, value }) => `${key} ${step} ${value}`).join(", ")),
    });
    const logger = new SmartLogger({ sinks: [sink("steps"), sink("epochs", every({ epochs: 1 }))] });
    for (let step = 1; step <= 200; step++) {
      const at = { ...noCounters, steps: step, updates: step, batches: step, epochs: step > 100 ? 1 : 0 };
      logger.log({ loss: 1 }, at);
      if (step % 100 === 0) logger.log({ loss: step }, { ...at, epochs: step / 100 }, "validation");
    }
    await logger.close();
    const expected = [
      "train/loss 100 1, validation/loss 100 100",
      "train/loss 200 1, validation/loss 200 200",
    ];
    expect(windows).toEqual({ steps: expected, epochs: expected });
  });
});

/** The document's example: three that have a `return_mean` at one step. Gives what was refused. */
async function threeReturns(sink: Sink): Promise<string> {
  const logger = new SmartLogger({ sinks: [sink], clock: manualClock(1_700_000_000_000) });
  const [progress, comprehensive] = [logger.as("progress"), logger.as("comprehensive")];
  let refused = "";
  for (const step of [1000, 2000]) {
    const more = step / 1000 - 1;
    progress.log({ return_mean: 15.2 + more }, step);
    try {
      comprehensive.log({ return_mean: 15.8 + more, entropy: 0.5 }, step);
    } catch (error) {
      refused = String(error);
    }
    comprehensive.log({ return_mean: 15.8 + more }, step, "comprehensive");
    logger.as("evaluation").log({ return_mean: 16.1 + more }, step, "eval");
  }
  // The same writer twice at one step: both count.
  progress.log({ return_mean: 18.2 }, 2000);
  await logger.close();
  return refused;
}

/** By key: the values at steps 1000 and 2000. */
const stored: Readonly<Record<string, readonly [number, number]>> = {
  "train/return_mean": [15.2, 17.2],
  "train/entropy": [0.5, 0.5],
  "comprehensive/return_mean": [15.8, 16.8],
  "eval/return_mean": [16.1, 17.1],
};
const twoWriters = /METRIC_TWO_WRITERS/;

const tensorBoard = findTensorBoard();
describe("TensorBoard shows all metrics without overwrites", () => {
  if ("missing" in tensorBoard) {
    it.skip(tensorBoard.missing, () => undefined);
    return;
  }
  afterAll(() => tensorBoard.close());

  it("a second writer is refused by name, and under categories of their own all stand side by side", async () => {
    const directory = join(folder, "tensorboard");
    const refused = await threeReturns(tensorBoardSink(directory));
    expect(refused).toMatch(twoWriters);
    expect(refused).toMatch(/"return_mean" of category "train" .*"progress".*"comprehensive"/);
    const { accumulator, loader } = await tensorBoard.read(directory);
    for (const found of [accumulator, loader]) {
      expect(Object.keys(found)).toEqual(["."]);
      const scalars = Object.entries(found["."]?.scalars ?? {});
      expect(
        Object.fromEntries(
          scalars.map(([tag, events]) => [tag, events.map(([step, , value]) => [step, value])]),
        ),
      ).toEqual(
        Object.fromEntries(
          Object.entries(stored).map(([key, [first, second]]) => [
            key,
            [
              [1000, Math.fround(first)],
              [2000, Math.fround(second)],
            ],
          ]),
        ),
      );
    }
  });
});

const wandb = findWandb();
describe("W&B logs correctly with proper naming", () => {
  if ("missing" in wandb) {
    it.skip(wandb.missing, () => undefined);
    return;
  }
  afterAll(() => wandb.close());

  it("category/name, one row a step, every value of every writer in it", async () => {
    const sink = wandbSink({ directory: join(folder, "wandb"), project: "document-004" });
    expect(await threeReturns(sink)).toMatch(twoWriters);
    const [run = ""] = readdirSync(join(folder, "wandb", "wandb")).filter((name) =>
      /^offline-run/.test(name),
    );
    const directory = join(folder, "wandb", "wandb", run);
    const [log = ""] = readdirSync(directory).filter((name) => name.endsWith(".wandb"));
    const records = await wandb.read(join(directory, log));
    const rows = records.flatMap(({ history }) => (history ? [history.item] : []));
    const metrics = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith("_"))),
    );
    expect(metrics).toEqual(
      [0, 1].map((i) => ({
        steps: (i + 1) * 1000,
        ...Object.fromEntries(Object.entries(stored).map(([key, values]) => [key, values[i]])),
      })),
    );
  });
});
