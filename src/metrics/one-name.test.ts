import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { CheckpointManager, checkpointHook, filedMetrics, memoryStore } from "../checkpoint/index.ts";
import { inspect } from "../cli/checkpoint/inspect.ts";
import { parseKeep } from "../cli/checkpoint/prune.ts";
import { matching } from "../cli/runs/choose-metrics.ts";
import { listRuns, listText } from "../cli/runs/list.ts";
import { byMetric, every } from "../schedule/index.ts";
import { Trainer } from "../trainer/index.ts";
import { Keep, smallTask, temporaryDirectory } from "./hook/hook.test-support.ts";
import {
  consoleSink,
  csvSink,
  jsonlSink,
  Logger,
  logFileSink,
  metricsHook,
  openStatsStore,
  tensorBoardSink,
} from "./index.ts";

const name = "validation/loss";
const best = (metric: string) => ({ best: { metric, k: 1, direction: "min" } }) as const;

describe("one metric has one name", () => {
  it("wherever it is shown, and wherever it is asked for", async () => {
    const directory = temporaryDirectory();
    const at = (file: string) => join(directory, file);
    const stream = Object.assign(new PassThrough(), { isTTY: false });
    const store = await openStatsStore(at("stats.db"));
    const keep = Object.assign(new Keep(), { metrics: [name] });
    const schedule = every({ epochs: 1 });
    const rate = byMetric({ metric: name, initial: 0.01, transform: (loss) => loss / 100 });
    const logger = new Logger({
      sinks: [
        consoleSink({ stream, env: {}, important: [name], limit: 1, schedule }),
        ...[logFileSink(at("run.log")), jsonlSink(at("a.jsonl")), csvSink(at("a.csv"))],
        ...[tensorBoardSink(at("board")), keep],
      ],
    });
    const { validation } = await new Trainer({
      task: smallTask({ learningRate: rate }),
      config: { epochs: 3, handleSignals: false },
      hooks: [
        metricsHook({ logger, statsStore: store, run: { id: "one" }, system: false }),
        checkpointHook({ directory: at("checkpoints"), keep: best(name) }),
      ],
    }).train();
    const score = validation?.loss as number;

    expect(keep.records.map(({ key }) => key)).toEqual([name, name, name]);
    expect(rate.follows).toEqual([name]);
    expect(rate.at({} as never)).toBe(score / 100);
    expect(String(stream.read())).toMatch(/^step 21 {2}validation\/loss \S+ {2}and/m);
    expect(readFileSync(at("run.log"), "utf8")).toContain(` ${name} `);
    expect(readFileSync(at("a.jsonl"), "utf8")).toContain(`{"key":"${name}"`);
    expect(readFileSync(at("a.csv"), "utf8").split("\n")[0]?.split(",")).toContain(name);
    const [events = ""] = readdirSync(at("board"));
    expect(readFileSync(join(at("board"), events), "latin1")).toContain(name);
    expect((await store.series("one", name)).at(-1)?.value).toBe(score);
    expect(matching(await store.metrics("one"), [name]).map(({ key }) => key)).toEqual([name]);
    const asked = { limit: 9, metric: name, now: Date.now() };
    const [heading, row] = listText("", await listRuns(store, asked), asked, { colors: plain });
    expect([heading, row]).toEqual([
      expect.stringMatching(new RegExp(`${name}$`)),
      expect.stringMatching(/ 0\.\d+$/),
    ]);
    await store.close();

    const [newest = ""] = readdirSync(at("checkpoints")).sort().reverse();
    expect(await inspect(join(at("checkpoints"), newest), false)).toContain(`${name} ${score}`);
    const manager = new CheckpointManager({
      store: memoryStore(),
      keep: parseKeep({ best: `${name}:min:1` }),
    });
    await manager.save({}, { counters: { epochs: 1 }, scores: { "validation.loss": 2 } });
    const [saved] = await manager.list();
    expect(saved?.manifest && filedMetrics(saved.manifest)).toEqual({ [name]: 2 });
    await manager.close();
  });

  it.each<[place: string, ask: (metric: string) => unknown]>([
    ["keep.best", (metric) => checkpointHook({ store: memoryStore(), keep: best(metric) })],
    ["byMetric", (metric) => byMetric({ metric, initial: 1 })],
    ["a sink's metrics", (metric) => new Logger({ sinks: [{ name: "a", metrics: [metric], write() {} }] })],
    ["what is important on a console", (metric) => consoleSink({ important: [metric], env: {} })],
    ["--metric", (metric) => matching([{ key: name }], [metric])],
    [
      "--best",
      (metric) =>
        new CheckpointManager({ store: memoryStore(), keep: parseKeep({ best: `${metric}:min:1` }) }),
    ],
    [
      "what a ramp follows",
      (metric) =>
        new Trainer({
          task: { ...smallTask(), ramps: { rate: { at: () => 1, describe: () => "", follows: [metric] } } },
        }),
    ],
  ])("and no other is taken: %s", async (_place, ask) => {
    const fix = (metric: string): string => {
      try {
        ask(metric);
      } catch (error) {
        return (error as Error & { readonly fix: string }).fix;
      }
      return "";
    };
    expect(fix("validation.loss")).toContain('"validation/loss"');
    expect(fix("loss")).toContain('"train/loss"');
    expect(fix("loss")).toContain('"validation/loss"');
    expect(fix(name)).toBe("");
  });
});

const plain = {
  bold: String,
  dim: String,
  red: String,
  yellow: String,
  green: String,
  cyan: String,
} as never;
