import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as nn from "../../nn/index.ts";
import * as optim from "../../optim/index.ts";
import { examples } from "../../supervised/drive.test-support.ts";
import { supervisedTask } from "../../supervised/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { consoleSink, Logger, metricsHook, tensorBoardSink } from "../index.ts";
import {
  findOriginal as findTensorBoard,
  type RunFound,
} from "../sinks/tensorboard/original.test-support.ts";
import { findOriginal as findWandb } from "../sinks/wandb/original.test-support.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../store/postgres.test-support.ts";
import { openStatsStore } from "../store/stats-store.ts";

/** Values by key and step. */
type Points = Map<string, Map<number, number>>;

const program = fileURLToPath(new URL("./run.test-support.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "espalier-readers-"));
const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
const tensorBoard = findTensorBoard();
const wandb = findWandb();
const postgres = findPostgres();
let server: PostgresServer | undefined;
let database = "";
let expected: Points;

function run(directory: string, killAt: number, url: string): ReturnType<typeof spawnSync> {
  const args = ["--import", "tsx", program, directory, String(killAt), url];
  return spawnSync(process.execPath, args, { encoding: "utf8" });
}

/** Points as a reader gives them. A key that has two values at one step is none of ours. */
function gather(points: Iterable<readonly [key: string, step: number, value: number]>): Points {
  const all: Points = new Map();
  for (const [key, step, value] of points) {
    const of = all.get(key) ?? new Map<number, number>();
    expect(of.has(step), `${key} at ${step} stands there once`).toBe(false);
    all.set(key, of.set(step, value));
  }
  return all;
}

const inOrder = (points: Points) =>
  [...points]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, of]) => [key, [...of].sort(([a], [b]) => a - b)]);

const same = (found: Points, wanted: Points = expected): void =>
  expect(inOrder(found)).toEqual(inOrder(wanted));

beforeAll(async () => {
  if ("programs" in postgres) {
    server = await startPostgres(postgres.programs);
    database = await server.newDatabase();
  }
  for (const directory of [whole, broken]) spawnSync("mkdir", [directory]);
  expect(run(whole, 0, "")).toMatchObject({ status: 0 });
  expect(run(broken, 6567, database).signal).toBe("SIGKILL");
  expect(run(broken, 0, database)).toMatchObject({ status: 0 });
  type Expected = readonly (readonly [string, number, string, number])[];
  const records = JSON.parse(readFileSync(join(whole, "expected.json"), "utf8")) as Expected;
  expected = gather(records.map(([key, step, value]) => [key, step, Number(value)] as const));
}, 120_000);

afterAll(async () => {
  if (!("missing" in tensorBoard)) tensorBoard.close();
  if (!("missing" in wandb)) wandb.close();
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe("of a run with fifty metrics and ten thousand steps, killed and resumed, there is found every value once by", () => {
  it("whoever expects what the uninterrupted run has logged", () => {
    expect([...expected.keys()]).toHaveLength(51);
    for (const [key, of] of expected) expect(of.size).toBe(key === "validation/accuracy" ? 42 : 100);
    // Each as it was, at its own step: no window's mean.
    for (const [step, value] of expected.get("validation/accuracy") ?? [])
      expect([step % 237, value]).toEqual([0, 0.5 + step / 30_000]);
    expect(expected.get("train/metric_3")?.get(1500)).toBeNaN();
    expect(expected.get("train/metric_4")?.get(700)).toBe(Number.NEGATIVE_INFINITY);
    expect(expected.get("train/metric_7")?.get(100)).not.toBe(expected.get("check/metric_7")?.get(100));
  });

  it("JSON, line by line", () => {
    const lines = readFileSync(join(broken, "metrics.jsonl"), "utf8").trim().split("\n");
    same(
      gather(
        lines.map((line) => {
          const { key, step, value } = JSON.parse(line) as {
            key: string;
            step: number;
            value: number | string;
          };
          return [key, step, Number(value)] as const;
        }),
      ),
    );
  });

  it("a spreadsheet", () => {
    const [header, ...rows] = readFileSync(join(broken, "metrics.csv"), "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(","));
    const first = (header as string[]).findIndex((column) => column.includes("/"));
    same(
      gather(
        rows.flatMap((row) =>
          row
            .slice(first)
            .map((cell, i) => ({ key: header?.[first + i] ?? "", step: Number(row[0]), cell }))
            .flatMap(({ key, step, cell }) => (cell === "" ? [] : [[key, step, Number(cell)] as const])),
        ),
      ),
    );
  });

  const fromStore = async (location: string): Promise<void> => {
    const store = await openStatsStore(location);
    try {
      const [found] = await store.runs();
      expect(found).toMatchObject({ id: "readers", outcome: "completed", resumes: 1 });
      const keys = await store.metrics("readers");
      expect(new Set(keys.map(({ points }) => points))).toEqual(new Set([100, 42]));
      const series = await Promise.all(keys.map(({ key }) => store.series("readers", key)));
      same(gather(series.flat().map(({ key, step, value }) => [key, step, value as number] as const)));
    } finally {
      await store.close();
    }
  };

  it("SQLite", () => fromStore(join(broken, "stats.db")));

  it.skipIf("missing" in postgres)("Postgres", () => fromStore(database));

  it.skipIf("missing" in tensorBoard)("TensorBoard, to the precision it has", async () => {
    if ("missing" in tensorBoard) return;
    const { accumulator, fast } = await tensorBoard.read(join(broken, "tensorboard"), { fast: true });
    const single = new Map(
      [...expected].map(([key, of]) => [key, new Map([...of].map(([s, v]) => [s, Math.fround(v)]))]),
    );
    for (const reader of [accumulator, ...(fast ? [fast] : [])]) {
      const runs: readonly Pick<RunFound, "scalars">[] = Object.values(reader);
      const points = runs.flatMap(({ scalars }) =>
        Object.entries(scalars).flatMap(([key, events]) =>
          events.map(([step, , value]) => [key, step, Math.fround(Number(value))] as const),
        ),
      );
      same(gather(points), single);
    }
  });

  it.skipIf("missing" in wandb)("W&B", async () => {
    if ("missing" in wandb) return;
    const runs = readdirSync(join(broken, "wandb")).filter((name) => name.startsWith("offline-run-"));
    const files = runs.map((name) => join(broken, "wandb", name, "run-readers.wandb"));
    const records = (await Promise.all(files.map((file) => wandb.read(file)))).flat();
    const rows = records.flatMap(({ history }) => (history ? [history.item] : []));
    same(
      gather(
        rows.flatMap((row) =>
          Object.entries(row)
            .filter(([key]) => key.includes("/"))
            .map(([key, value]) => [key, Number(row.steps), Number(value)] as const),
        ),
      ),
    );
  });
});

it("42 validations of a training run are 42 points of TensorBoard's and 42 lines of the console, as they were", async () => {
  const directory = join(folder, "scores");
  const scores: (readonly [step: number, accuracy: number])[] = [];
  const stream = Object.assign(new PassThrough(), { isTTY: false });
  const task = supervisedTask({
    ...{ model: nn.mlp({ hidden: [4], out: 2 }), optimizer: optim.adam({ learningRate: 0.05 }) },
    ...{ data: examples([8, 3], [8, 2]), validation: examples([10, 3], [10, 2]), loss: nn.mse },
    ...{ batchSize: 8, engine: "wasm" },
  });
  const validated: TrainerHook = {
    name: "validated",
    onValidationEnd: ({ counters, state }) =>
      void scores.push([counters.steps, state.validation?.loss as number]),
  };
  const logger = new Logger({ sinks: [tensorBoardSink(directory), consoleSink({ stream, env: {} })] });
  const config = { epochs: 42, handleSignals: false };
  await new Trainer({ task, config, hooks: [validated, metricsHook({ logger, system: false })] }).train();
  expect(scores).toHaveLength(42);

  const text = String(stream.read());
  for (const [step, loss] of scores)
    expect(text).toMatch(
      new RegExp(`^step ${step} .*validation/loss ${Number(loss.toPrecision(4))}\\b`, "m"),
    );
  if ("missing" in tensorBoard) return;
  const { accumulator } = await tensorBoard.read(directory);
  const [run] = Object.values(accumulator);
  expect(run?.scalars["validation/loss"]?.map(([step, , value]) => [step, Number(value)])).toEqual(
    scores.map(([step, loss]) => [step, Math.fround(loss)]),
  );
});
