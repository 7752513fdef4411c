import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { checkSink, type HeldValue } from "../../testing/index.ts";
import { completed, metricRecord, runInfo, series } from "../../testing/sinks/records.ts";
import { Delivery } from "./delivery/delivery.ts";
import { manualTimers } from "./delivery/timers.test-support.ts";
import { type MlflowMetric, mlflowSink } from "./mlflow.ts";
import { findMlflow, startMlflow } from "./mlflow-live.test-support.ts";
import { FakeMlflow, refuse, serve } from "./mlflow-server.test-support.ts";

let mlflow: FakeMlflow;
let server: Awaited<ReturnType<typeof serve>>;
beforeEach(async () => {
  mlflow = new FakeMlflow();
  server = await serve(mlflow);
});
afterEach(() => server.close());

const options = () => ({ url: server.url, experiment: "e", clock: manualClock(1_700_000_100_000) });
const heldOf = ({ key, step, value }: MlflowMetric): HeldValue => ({ key, step, value: Number(value) });

describe("mlflowSink", () => {
  const cases = checkSink(() => mlflowSink(options()), {
    readBack: (place) => mlflow.run(place)?.metrics.map(heldOf) ?? [],
    keeps: { forgets: false },
    breakNext: (_place, call) => {
      // The second request of the call fails, after the first was done.
      let left = call === "write" ? 1 : 2;
      mlflow.before = (path, body) => {
        if (call === "write" && (path !== "runs/log-batch" || !body.metrics)) return undefined;
        if (--left > 0) return undefined;
        mlflow.before = () => undefined;
        return refuse(500, "out of order");
      };
    },
  });
  it.each(cases)("$name", ({ run }) => run());

  it("makes the experiment and the run, with name, start and settings", async () => {
    const sink = mlflowSink({ ...options(), runName: "mine" });
    await sink.open?.(runInfo("a-run"));
    expect([...mlflow.experiments.keys()]).toEqual(["e"]);
    expect(mlflow.runs[0]).toMatchObject({ name: "mine", status: "RUNNING" });
    expect(Object.fromEntries(mlflow.runs[0]?.params ?? [])).toEqual({
      seed: "7",
      "model.width": "64",
      "model.name": "small",
      rates: "[0.1,0.01]",
    });
  });

  it.each([
    ["completed", "FINISHED"],
    ["stopped", "FINISHED"],
    ["interrupted", "KILLED"],
    ["failed", "FAILED"],
  ] as const)("files a run that was %s as %s", async (outcome, status) => {
    const sink = mlflowSink(options());
    await sink.open?.(runInfo("a-run"));
    await sink.close?.({ ...completed, outcome, reason: "because" });
    expect(mlflow.runs[0]).toMatchObject({ status, end: 1_700_000_100_000 });
    expect(mlflow.runs[0]?.tags.get("espalier.reason")).toBe("because");
  });

  it("goes on in the same run, whose settings stay what they were", async () => {
    const first = mlflowSink(options());
    await first.open?.(runInfo("a-run"));
    await first.close?.(completed);
    const second = mlflowSink(options());
    await second.open?.({ ...runInfo("a-run", 3), config: { seed: 8, more: true } });
    expect(mlflow.runs).toHaveLength(1);
    expect(mlflow.runs[0]?.status).toBe("RUNNING");
    expect(mlflow.runs[0]?.params.get("seed")).toBe("7");
    expect(mlflow.runs[0]?.params.get("more")).toBe("true");
  });

  it("does not make a second run where the answer was lost", async () => {
    const sink = mlflowSink(options());
    let lose = true;
    mlflow.loseAnswer = (path) => path === "runs/create" && lose;
    await expect(sink.open?.(runInfo("a-run"))).rejects.toThrow(/SINK_UNAVAILABLE/);
    lose = false;
    await sink.open?.(runInfo("a-run"));
    expect(mlflow.runs).toHaveLength(1);
  });

  it("shares an experiment that another run makes at the same time", async () => {
    mlflow.before = (path) => {
      if (path === "experiments/create") mlflow.experiments.set("e", { id: "9", lifecycle_stage: "active" });
      return undefined;
    };
    await mlflowSink(options()).open?.(runInfo("a-run"));
    expect(mlflow.runs[0]?.experiment).toBe("9");
  });

  it("keeps to the limits of a request, by number and by size", async () => {
    const sink = mlflowSink(options());
    const config = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`p${i}`, "x".repeat(600)]));
    await sink.open?.({ ...runInfo("a-run"), config });
    expect(mlflow.runs[0]?.params.size).toBe(250);
    mlflow.requests.length = 0;
    await sink.write(series(1, 2500));
    expect(mlflow.requests).toEqual(["runs/log-batch", "runs/log-batch", "runs/log-batch"]);
    const long = Array.from({ length: 1000 }, (_, i) =>
      metricRecord({ step: 1, value: i, name: `${"汉".repeat(500)}${i}` }),
    );
    await sink.write(long);
    expect(mlflow.runs[0]?.metrics).toHaveLength(3500);
    expect(new Set(mlflow.runs[0]?.metrics.slice(2500).map(({ key }) => key)).size).toBe(1000);
  });

  it("goes on where a call of many requests failed", async () => {
    const sink = mlflowSink(options());
    await sink.open?.(runInfo("a-run"));
    let left = 2;
    mlflow.before = () => (--left === 0 ? refuse(503, "busy") : undefined);
    const records = series(1, 2500);
    await expect(sink.write(records)).rejects.toThrow(/503 busy/);
    expect(mlflow.runs[0]?.metrics).toHaveLength(1000);
    await sink.write(records);
    expect(mlflow.runs[0]?.metrics.map(({ step }) => step)).toEqual(records.map(({ step }) => step));
  });

  it("gives metrics names that MLflow takes, never two the same", async () => {
    const sink = mlflowSink(options());
    await sink.open?.(runInfo("a-run"));
    const keys = ["train/a/../b", "train/a/./b", "train/b", "/b", "a b:c", "a<b>", "a_b_", "x\ny"];
    await sink.write(keys.map((key, i) => metricRecord({ key, step: 1.4, value: i, wall: 0.6 })));
    const names = mlflow.runs[0]?.metrics.map(({ key }) => key) ?? [];
    expect(new Set(names).size).toBe(keys.length);
    expect(names[2]).toBe("train/b");
    expect(mlflow.runs[0]?.metrics[0]).toMatchObject({ step: 1, timestamp: 1 });
  });

  it("does not send again what a resumed run files the same, page by page, and sends what differs", async () => {
    const first = mlflowSink(options());
    await first.open?.(runInfo("a-run"));
    const odd = metricRecord({ step: 9, value: Number.NaN });
    await first.write([...series(1, 8), odd]);
    const second = mlflowSink(options());
    await second.open?.(runInfo("a-run", 4));
    await second.write([...series(5, 7), metricRecord({ step: 8, value: 88 }), { ...odd, wall: 1 }]);
    expect(mlflow.runs[0]?.metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 8]);
  });

  it("proves who it is, by token or by password, and never says them", async () => {
    const withToken = mlflowSink({ ...options(), token: "secret1" });
    await withToken.open?.(runInfo("a"));
    expect(mlflow.authorizations.at(-1)).toBe("Bearer secret1");
    const url = server.url.replace("//", "//us%40er:secret2@");
    await mlflowSink({ ...options(), url }).open?.(runInfo("b"));
    expect(mlflow.authorizations.at(-1)).toBe(`Basic ${Buffer.from("us@er:secret2").toString("base64")}`);
    mlflow.before = () => refuse(401, "who are you?");
    const refused: unknown = await mlflowSink({ ...options(), url, token: "secret1" })
      .open?.(runInfo("c"))
      ?.catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "SINK_UNUSABLE" });
    expect(String(refused)).toMatch(/401 who are you\?/);
    expect(String(refused)).not.toMatch(/secret/);
  });

  it.each([
    [500, "SINK_UNAVAILABLE"],
    [503, "SINK_UNAVAILABLE"],
    [429, "SINK_UNAVAILABLE"],
    [400, "SINK_REFUSED"],
    [413, "SINK_REFUSED"],
    [404, "SINK_UNUSABLE"],
    [403, "SINK_UNUSABLE"],
  ])("tells what the server says at %d, with the code %s", async (status, code) => {
    const sink = mlflowSink(options());
    await sink.open?.(runInfo("a-run"));
    mlflow.before = () => refuse(status, "the server's words", "ITS_CODE");
    await expect(sink.write(series(1, 1))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`runs/log-batch: ${status} ITS_CODE the server's words`),
    });
  });

  it("says that nobody answers, and that what answers is not MLflow", async () => {
    const { url } = server;
    await server.close();
    await expect(mlflowSink({ ...options(), url }).open?.(runInfo("a"))).rejects.toThrow(
      /does not answer.*ECONNREFUSED/,
    );
    const page = createServer((_, response) => response.end("<html>hello</html>"));
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    const other = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    await expect(mlflowSink({ ...options(), url: other }).open?.(runInfo("a"))).rejects.toThrow(
      /is not MLflow/,
    );
    page.close();
  });

  it("refuses an experiment that was deleted, and options it does not know", async () => {
    mlflow.experiments.set("e", { id: "1", lifecycle_stage: "deleted" });
    await expect(mlflowSink(options()).open?.(runInfo("a"))).rejects.toThrow(/"e" is deleted.*SINK_UNUSABLE/);
    expect(() => mlflowSink({ url: "here", experiment: "e" })).toThrow(/OPTION_INVALID/);
    expect(() => mlflowSink({ url: "ftp://u:secret@x", experiment: "e" })).toThrow(/^(?!.*secret)/);
    expect(() => mlflowSink({ ...options(), experiment: "" })).toThrow(/OPTION_INVALID/);
    expect(() => mlflowSink({ ...options(), experimnt: "e" } as never)).toThrow(/did you mean "experiment"/);
  });
});

describe("mlflowSink with its delivery", () => {
  /** Lets time pass until what is asked for has come about: real answers take real time. */
  async function until(time: ReturnType<typeof manualTimers>, done: () => boolean): Promise<void> {
    while (!done()) {
      await new Promise((resolve) => setImmediate(resolve));
      await time.pass(1);
    }
  }

  it("loses nothing to a server that is away for a while", async () => {
    const time = manualTimers();
    const said: string[] = [];
    const delivery = new Delivery(mlflowSink(options()), {
      clock: time.clock,
      timers: time,
      warn: (text) => void said.push(text),
      limits: { deadline: Infinity },
    });
    delivery.open(runInfo("a-run"));
    delivery.send(series(1, 5));
    await until(time, () => delivery.summary().written === 5);
    let away = 3;
    mlflow.before = () => away-- > 0;
    delivery.send(series(6, 7));
    delivery.send(series(8, 9));
    await until(time, () => delivery.summary().written === 9);
    expect(mlflow.runs[0]?.metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(said).toHaveLength(2);
  });

  it("stops asking where the run was deleted on the server", async () => {
    const time = manualTimers();
    const delivery = new Delivery(mlflowSink(options()), {
      clock: time.clock,
      timers: time,
      warn: () => undefined,
      limits: { deadline: Infinity },
    });
    delivery.open(runInfo("a-run"));
    delivery.send(series(1, 5));
    await until(time, () => delivery.summary().written === 5);
    const run = mlflow.runs[0];
    if (run) run.deleted = true;
    for (let i = 0; i < 100; i++) delivery.send(series(i, i));
    await until(time, () => delivery.summary().failures >= 20);
    mlflow.requests.length = 0;
    for (let i = 0; i < 100; i++) delivery.send(series(i, i));
    await time.pass(100_000);
    expect(mlflow.requests).toEqual([]);
    expect(delivery.summary().lastError).toContain("must be in the 'active' state");
  });
});

const live = findMlflow();
const name = "mlflowSink and MLflow itself";
if ("missing" in live) {
  // Where other parts are required nothing may be skipped, and this one is not among them.
  if (!process.env.ESPALIER_REQUIRE) it.skip(`${name}: ${live.missing}`, () => undefined);
} else
  describe(name, () => {
    const folder = mkdtempSync(join(tmpdir(), "espalier-mlflow-"));
    let running: Awaited<ReturnType<typeof startMlflow>> | undefined;
    beforeAll(async () => {
      const free = await serve(new FakeMlflow());
      await free.close();
      running = await startMlflow(live.python, folder, free.port);
    }, 180_000);
    afterAll(async () => {
      await running?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const ask = async (path: string, body: object): Promise<unknown> => {
      const answer = await fetch(`${running?.url}/api/2.0/mlflow/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return answer.json();
    };

    /** All values of a run, by MLflow's own interface, each metric's in order. */
    async function readBack(place: string): Promise<HeldValue[]> {
      const got = await fetch(`${running?.url}/api/2.0/mlflow/experiments/get-by-name?experiment_name=live`);
      const { experiment } = (await got.json()) as { experiment: { experiment_id: string } };
      const { runs } = (await ask("runs/search", {
        experiment_ids: [experiment.experiment_id],
        filter: `tags.\`espalier.run\` = '${place}'`,
      })) as { runs: { info: { run_id: string }; data: { metrics?: MlflowMetric[] } }[] };
      expect(runs).toHaveLength(1);
      const run = runs[0];
      const held: HeldValue[] = [];
      for (const { key } of run?.data.metrics ?? []) {
        const query = new URLSearchParams({ run_id: run?.info.run_id ?? "", metric_key: key });
        const history = await fetch(`${running?.url}/api/2.0/mlflow/metrics/get-history?${query}`);
        const { metrics } = (await history.json()) as { metrics: MlflowMetric[] };
        held.push(...metrics.sort((a, b) => a.step - b.step).map(heldOf));
      }
      return held;
    }

    const infinite = (value: number): number =>
      Math.abs(value) === Infinity ? Math.sign(value) * Number.MAX_VALUE : value;
    const cases = checkSink(() => mlflowSink({ url: running?.url ?? "", experiment: "live" }), {
      readBack,
      keeps: { number: infinite, forgets: false },
    });
    it.each(cases)("$name", ({ run }) => run(), 180_000);
  });
