import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { node } from "../../../core/index.ts";
import { noCounters } from "../../../schedule/index.ts";
import { checkSink, type HeldValue, metricRecord } from "../../../testing/index.ts";
import { completed, runInfo, series } from "../../../testing/sinks/records.ts";
import type { RunInfo } from "../../run-info.ts";
import { type FaultyFiles, faultyFiles } from "../faulty-files.test-support.ts";
import { BLOCK, LogFile } from "./log-file.ts";
import { type FoundRecord, findOriginal } from "./original.test-support.ts";
import { kind, writeItem } from "./records.ts";
import { WandbServer } from "./server.test-support.ts";
import { type WandbSyncOutcome, wandbSink } from "./sink.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-wandb-"));
afterAll(() => rmSync(folder, { recursive: true }));
const sinkAt = (place: string, more: object = {}) =>
  wandbSink({ directory: join(folder, place), project: "plants", ...more });
const runsAt = (place: string): string[] =>
  readdirSync(join(folder, place, "wandb"))
    .filter((name) => name.startsWith("offline-run"))
    .sort();
const logAt = (place: string, which = 0): string =>
  join(folder, place, "wandb", runsAt(place)[which] ?? "", `run-${place}.wandb`);
const resumed = (id: string, steps: number, more: object = {}): RunInfo => ({
  ...runInfo(id),
  startedAt: 1_700_005_000_000,
  resumedAt: { ...noCounters, steps, ...more },
});

/** A run with `sync: true`, and `wandb` as the folders of PATH have it. */
async function syncedRun(place: string, path: string): Promise<WandbSyncOutcome> {
  const before = process.env.PATH;
  const told: WandbSyncOutcome[] = [];
  const sink = sinkAt(place, { sync: true, onSync: (outcome: WandbSyncOutcome) => told.push(outcome) });
  try {
    process.env.PATH = path;
    sink.open?.(runInfo(place));
    sink.write([metricRecord({ step: 1, value: 0.5 })]);
    expect(sink.synced).toBe(undefined);
    const directory = sink.runDirectory;
    await sink.close?.(completed);
    const outcome = await sink.synced;
    expect(told).toEqual([outcome]);
    expect(outcome?.directory).toBe(directory);
    return outcome as WandbSyncOutcome;
  } finally {
    process.env.PATH = before;
  }
}

/** A folder with a command `wandb` that runs this script. */
function commandAt(place: string, script: string): string {
  const bin = join(folder, place);
  mkdirSync(bin);
  writeFileSync(join(bin, "wandb"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return bin;
}

describe.skipIf(process.platform === "win32")("wandbSink({ sync: true })", () => {
  it("has wandb sync send the run's directory once it has ended, and says so", async () => {
    const bin = commandAt("bin-sent", 'echo "$1 $(ls $2)"; echo done >&2');
    const { outcome, code, said, text, directory } = await syncedRun(
      "sync-sent",
      bin + delimiter + process.env.PATH,
    );
    expect({ outcome, code }).toEqual({ outcome: "sent", code: 0 });
    expect(said).toMatch(/^sync (.|\n)*run-sync-sent\.wandb(.|\n)*done$/);
    expect(text).toContain(directory);
  });

  it("says with which code and words it failed, and goes on", async () => {
    const bin = commandAt(
      "bin-failed",
      'for i in 1 2 3 4 5 6 7 8; do echo "line $i"; done; echo "no \\033[31mlogin" >&2; exit 3',
    );
    const { outcome, code, text } = await syncedRun("sync-failing", bin + delimiter + process.env.PATH);
    expect({ outcome, code }).toEqual({ outcome: "failed", code: 3 });
    expect(text).toMatch(/exit code 3/);
    expect(text).toMatch(/line 8/);
    expect(text).not.toMatch(/line 1|(?!\n)\p{Cc}/u);
  });

  it("says how to get wandb where there is none", async () => {
    const { outcome, code, text } = await syncedRun("sync-missing", join(folder, "no-such-folder"));
    expect({ outcome, code }).toEqual({ outcome: "notFound", code: null });
    expect(text).toMatch(/pip install wandb/);
    expect(text).toMatch(/wandb sync .*missing/);
  });

  it("says what the real wandb says without a login", { timeout: 60_000 }, async () => {
    const bins = (process.env.PYTHONPATH ?? "").split(delimiter).map((path) => join(path, "bin"));
    const bin = bins.find((each) => existsSync(join(each, "wandb")));
    if (bin === undefined) return expect(original).toHaveProperty("missing");
    const before = { ...process.env };
    try {
      Object.assign(process.env, { HOME: folder, WANDB_BASE_URL: "http://127.0.0.1:9", WANDB_API_KEY: "" });
      const { outcome, code, said } = await syncedRun("sync-real", bin + delimiter + before.PATH);
      expect(outcome).toBe("failed");
      expect(code).toBeGreaterThan(0);
      expect(said).not.toBe("");
    } finally {
      for (const name of ["HOME", "WANDB_BASE_URL", "WANDB_API_KEY"])
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
    }
  });
});

describe("wandbSink", () => {
  it("makes a directory as W&B's client does, and has it shown as the latest", () => {
    const sink = sinkAt("named");
    expect(sink.runDirectory).toBe(undefined);
    sink.open?.(runInfo("named"));
    expect(sink.runDirectory).toBe(join(folder, "named", "wandb", runsAt("named")[0] ?? ""));
    expect(runsAt("named")).toEqual([
      expect.stringMatching(/^offline-run-20231114_\d{6}-named$|^offline-run-20231115_/),
    ]);
    expect(existsSync(join(folder, "named", "wandb", "latest-run", "run-named.wandb"))).toBe(true);
  });

  it.each([
    [{ project: "a/b" }, /project is "a\/b"/],
    [{ project: "" }, /project is ""/],
    [{ entity: "x:y" }, /entity is "x:y"/],
    [{ projekt: "x" }, /did you mean "project"/],
  ])("refuses %j", (options, message) => expect(() => sinkAt("refused", options)).toThrow(message));

  it("says which place it cannot write to, and that a run is not open", () => {
    writeFileSync(join(folder, "a-file"), "");
    expect(() => sinkAt("a-file").open?.(runInfo("x"))).toThrow(/a-file/);
    expect(() => sinkAt("closed").write(series(1, 1))).toThrow(/SINK_NOT_OPEN/);
  });

  it("leaves the log as it was where the disk is full on resume, and can be opened again", () => {
    const sink = sinkAt("full");
    sink.open?.(runInfo("full"));
    sink.write(series(1, 9));
    const before = readFileSync(logAt("full"));
    const files = faultyFiles();
    const again = sinkAt("full", { files });
    files.fail(100);
    expect(() => again.open?.(resumed("full", 4))).toThrow(/ENOSPC/);
    expect(readFileSync(logAt("full")).equals(before)).toBe(true);
    expect(readdirSync(join(logAt("full"), ".."))).toEqual(["run-full.wandb"]);
    again.open?.(resumed("full", 4));
    expect(runsAt("full")).toHaveLength(1);
  });
});

const original = findOriginal();
const name = "wandbSink, read by W&B";
if ("missing" in original) it.skip(`${name}: ${original.missing}`, () => undefined);
else
  describe(name, () => {
    const server = new WandbServer();
    afterAll(() => {
      original.close();
      server.stop();
    });
    const histories = (records: readonly FoundRecord[]): Readonly<Record<string, unknown>>[] =>
      records.flatMap(({ history }) => (history ? [history.item] : []));

    /** Each row has its step under the name of the axis. */
    const readBack = async (place: string): Promise<HeldValue[]> => {
      const held: HeldValue[] = [];
      for (const row of histories(await original.read(logAt(place))))
        for (const [key, value] of Object.entries(row)) {
          if (!key.includes("/") || typeof value === "object") continue;
          const isText = typeof value === "string" && Number.isNaN(Number(value)) && value !== "NaN";
          held.push({ key, step: Number(row.steps), value: isText ? value : Number(value) });
        }
      return held;
    };

    const files = new Map<string, FaultyFiles>();
    const cases = checkSink(
      (place) => {
        const faulty = faultyFiles();
        files.set(place, faulty);
        return sinkAt(place, { files: faulty });
      },
      {
        readBack,
        keeps: { texts: true },
        breakNext: (place, call) =>
          call === "open" ? files.get(place)?.failOpen() : files.get(place)?.fail(300),
      },
    );
    it.each(cases)("$name", ({ run }) => run());

    it("has records that end anywhere near the end of a block, and go on in the next", async () => {
      const path = join(folder, "blocks", "wandb", "offline-run-20231114_000000-blocks", "run-blocks.wandb");
      const log = new LogFile(node.fs, path);
      const written: string[] = [];
      const add = (size: number): number => {
        log.add(kind.summary, (out) => writeItem(out, ["text"], JSON.stringify("x".repeat(size))));
        log.stage();
        return statSync(path).size;
      };
      // Leaves so many bytes of the block, then writes over its end.
      for (let left = 0; left <= 15; left++) {
        const size = 20_000 + BLOCK - left - (add(20_000) % BLOCK);
        log.drop();
        expect(add(size) % BLOCK).toBe((BLOCK - left) % BLOCK);
        log.commit();
        add(5000);
        log.commit();
        written.push("x".repeat(size), "x".repeat(5000));
      }
      const records = await original.read(path);
      expect(records.map(({ summary }) => summary?.update.text)).toEqual(written);
    });

    const histogram = { edges: [0, 1, 2], counts: [3, 1], min: 0, max: 2, sum: 4, sumSquares: 5, count: 4 };
    const window = (i: number, value: number) => [
      metricRecord({ step: i * 100, value }),
      metricRecord({ step: i * 100, value: -value, category: "eval" }),
      metricRecord({ step: i * 100, value: histogram, name: "weights" }),
      metricRecord({ step: i, value, axis: "epochs", name: "accuracy" }),
    ];

    it("files the run, what metrics are counted on, rows, the newest values, and the end", async () => {
      const sink = sinkAt("whole", { entity: "team" });
      sink.open?.(runInfo("whole"));
      sink.write(window(1, 0.1));
      sink.write([metricRecord({ step: 50, value: 5 })]);
      sink.close?.({ outcome: "failed", counters: { ...noCounters, seconds: 61.4 } });
      const records = await original.read(logAt("whole"));
      expect(records.map(({ type }) => type)).toEqual([
        "header",
        "run",
        "environment",
        ...Array.from({ length: 6 }, () => "metric"),
        "history",
        "history",
        "summary",
        "history",
        "summary",
        "exit",
      ]);
      expect(records[1]?.run).toMatchObject({
        run_id: "whole",
        entity: "team",
        project: "plants",
        display_name: "the whole",
        config: { update: runInfo("whole").config },
        start_time: "2023-11-14T22:13:20Z",
      });
      expect(records.flatMap(({ metric }) => metric ?? [])).toEqual([
        { name: "steps", options: { defined: true, hidden: true } },
        { name: "train/loss", options: { defined: true, step_sync: true }, step_metric: "steps" },
        { name: "eval/loss", options: { defined: true, step_sync: true }, step_metric: "steps" },
        { name: "train/weights", options: { defined: true, step_sync: true }, step_metric: "steps" },
        { name: "epochs", options: { defined: true, hidden: true } },
        { name: "train/accuracy", options: { defined: true, step_sync: true }, step_metric: "epochs" },
      ]);
      const weights = { _type: "histogram", bins: [0, 1, 2], values: [3, 1] };
      const first = { steps: 100, "train/loss": 0.1, "eval/loss": -0.1, "train/weights": weights };
      const second = { epochs: 1, "train/accuracy": 0.1, _step: 1, _runtime: 1, _timestamp: 1_700_000_001 };
      expect(histories(records)).toEqual([
        { ...first, _step: 0, _runtime: 100, _timestamp: 1_700_000_100 },
        second,
        { steps: 50, "train/loss": 5, _step: 2, _runtime: 50, _timestamp: 1_700_000_050 },
      ]);
      // Not the late one.
      expect(records.flatMap(({ summary }) => summary?.update ?? [])).toEqual([
        { ...first, ...second },
        { "_wandb.runtime": 61 },
      ]);
      expect(records.at(-1)?.exit).toEqual({ exit_code: 1, runtime: 61 });
    });

    it("goes on in its directory, without what comes again on each axis and what a crash left", async () => {
      const killed = sinkAt("killed");
      killed.open?.(runInfo("killed"));
      for (let i = 1; i <= 10; i++) killed.write(window(i, i));
      killed.write([
        metricRecord({ step: 350, value: 35 }),
        metricRecord({ step: 1, value: 1, name: "once" }),
      ]);
      const { size } = statSync(logAt("killed"));
      killed.write(window(11, 11));
      truncateSync(logAt("killed"), size + 30);
      const second = sinkAt("killed");
      second.open?.(resumed("killed", 700, { epochs: 7 }));
      for (let i = 8; i <= 9; i++) second.write(window(i, 100 + i));
      second.close?.({ ...completed, outcome: "interrupted" });
      const third = sinkAt("killed");
      third.open?.(resumed("killed", 900, { epochs: 9 }));
      third.write(window(10, 110));
      third.close?.(completed);

      expect(runsAt("killed")).toHaveLength(1);
      const records = await original.read(logAt("killed"));
      const rows = histories(records);
      const of = (key: string, axis: string) =>
        rows.filter((row) => key in row).map((row) => [row[axis], row[key]]);
      const all = Array.from({ length: 10 }, (_, i) => i + 1);
      const value = (i: number): number => (i <= 7 ? i : 100 + i);
      const losses = all.map((i) => [i * 100, value(i)]);
      expect(of("train/loss", "steps")).toEqual([...losses.slice(0, 7), [350, 35], ...losses.slice(7)]);
      expect(of("eval/loss", "steps")).toEqual(all.map((i) => [i * 100, -value(i)]));
      expect(of("train/accuracy", "epochs")).toEqual(all.map((i) => [i, value(i)]));
      const numbers = rows.map((row) => Number(row._step));
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      // Charts and settings are told once, tables know the newest of all, and there is one end.
      expect(new Set(records.flatMap(({ metric }) => metric?.name ?? [])).size).toBe(
        records.filter(({ metric }) => metric).length,
      );
      const newest = Object.assign({}, ...records.map(({ summary }) => summary?.update));
      expect(newest).toMatchObject({
        "train/loss": 110,
        "train/accuracy": 110,
        "train/once": 1,
        steps: 1000,
      });
      expect(records.flatMap(({ exit }) => exit ?? [])).toEqual([{ exit_code: 0 }]);
    });

    it("is sent by wandb sync: as it stands after a kill, appended where a part was sent before", async () => {
      const address = await server.start();
      const killed = sinkAt("sent");
      killed.open?.(runInfo("sent"));
      killed.write(window(1, Number.NaN));
      killed.write([...window(2, 0.1), metricRecord({ step: 200, value: "ä 'text'", name: "note" })]);
      await original.sync(address, join(logAt("sent"), ".."));
      const sent = server.runs.get("sent");
      expect(sent?.history).toEqual(
        histories(await original.read(logAt("sent"))).map((row) => expect.objectContaining({ ...row })),
      );
      expect(sent?.history).toHaveLength(4);
      expect(sent?.history[0]).toMatchObject({ steps: 100, "train/loss": "NaN" });
      expect(sent?.config).toMatchObject({ seed: { value: 7 }, model: { value: { width: 64 } } });
      expect(sent?.summary).toMatchObject({ steps: 200, "train/loss": 0.1, "train/note": "ä 'text'" });

      const second = sinkAt("sent");
      second.open?.(resumed("sent", 200, { epochs: 2 }));
      second.write(window(3, 0.3));
      second.close?.(completed);
      expect(runsAt("sent")).toHaveLength(2);
      await original.sync(address, join(logAt("sent", 1), ".."));
      expect(sent?.history.map((row) => [row._step, row.steps ?? row.epochs])).toEqual([
        [0, 100],
        [1, 1],
        [2, 200],
        [3, 2],
        [4, 300],
        [5, 3],
      ]);
      expect(sent?.exitCode).toBe(0);
    });

    it("begins anew beside a directory that it cannot use", () => {
      mkdirSync(join(folder, "beside", "wandb", "offline-run-20231114_000000-beside"), { recursive: true });
      const sink = sinkAt("beside");
      sink.open?.(resumed("beside", 3));
      sink.write(series(4, 5));
      sink.close?.(completed);
      expect(existsSync(logAt("beside", 1))).toBe(true);
    });
  });
