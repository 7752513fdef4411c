import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { checkSink, type HeldValue } from "../../testing/index.ts";
import { completed, metricRecord, runInfo, series } from "../../testing/sinks/records.ts";
import type { MetricRecord } from "../record.ts";
import { Delivery } from "./delivery/delivery.ts";
import { manualTimers } from "./delivery/timers.test-support.ts";
import { type PrometheusOptions, type PrometheusSink, prometheusSink } from "./prometheus.ts";

const opened: PrometheusSink[] = [];
afterEach(async () => {
  for (const sink of opened.splice(0)) await sink.close?.(completed);
});

const make = (options: PrometheusOptions = {}): PrometheusSink => {
  const sink = prometheusSink({ port: 0, ...options });
  opened.push(sink);
  return sink;
};

async function scraped(records: readonly MetricRecord[], run = runInfo("a-run")): Promise<string> {
  const sink = make();
  await sink.open?.(run);
  sink.write(records);
  const answer = await fetch(sink.url ?? "");
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return answer.text();
}

/** The samples of the text format, read by its grammar: every line must be one of its kinds. */
function samplesOf(text: string): { name: string; labels: Record<string, string>; value: number }[] {
  return text
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      if (/^# (HELP [a-zA-Z_:][a-zA-Z0-9_:]* |TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (gauge|summary)$)/.test(line))
        return [];
      const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (NaN|[+-]Inf|-?[0-9.e+-]+)$/.exec(line);
      if (!found) throw new Error(`not a line of the format: ${line}`);
      const labels: Record<string, string> = {};
      const rest = (found[2] ?? "").replace(
        /([a-zA-Z_]+)="((?:[^"\\]|\\.)*)",?/g,
        (_, name: string, value: string) => {
          labels[name] = value.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));
          return "";
        },
      );
      if (rest !== "") throw new Error(`labels left over: ${rest}`);
      return [{ name: found[1] ?? "", labels, value: Number(found[3]?.replace("Inf", "Infinity")) }];
    });
}

const metricsOf = (text: string): HeldValue[] =>
  samplesOf(text).flatMap(({ labels, value, name }) =>
    labels.metric === undefined || labels.quantile || /_(sum|count)$/.test(name)
      ? []
      : [{ key: labels.metric, value }],
  );

describe("prometheusSink", () => {
  const sinks = new Map<string, PrometheusSink>();
  const texts = new Map<string, string>();
  const cases = checkSink(
    (place) => {
      const sink = make();
      const close = sink.close?.bind(sink);
      // What was there before it was closed: afterwards nothing is.
      const seen = Object.assign(Object.create(sink) as PrometheusSink, {
        close: async () => {
          texts.set(place, await (await fetch(sink.url ?? "")).text());
          await close?.(completed);
        },
      });
      sinks.set(place, sink);
      return seen;
    },
    {
      readBack: async (place) => {
        const url = sinks.get(place)?.url;
        return metricsOf(url ? await (await fetch(url)).text() : (texts.get(place) ?? ""));
      },
      keeps: { newestOnly: true, steps: false, resumes: false },
    },
  );
  it.each(cases)("$name", ({ run }) => run());

  it("speaks the text format", async () => {
    const text = await scraped([
      metricRecord({ step: 5, value: 0.25, unit: "nats" }),
      metricRecord({ step: 7, value: -Infinity, category: "eval" }),
      metricRecord({ step: 7, value: Number.NaN, category: "eval", name: "x", axis: "epochs" }),
    ]);
    expect(text).toBe(
      [
        "# HELP espalier_run_info The run these metrics are of",
        "# TYPE espalier_run_info gauge",
        'espalier_run_info{run="a-run",name="the a-run"} 1',
        "# HELP espalier_step The newest step with a metric, on each axis",
        "# TYPE espalier_step gauge",
        'espalier_step{run="a-run",axis="steps"} 7',
        'espalier_step{run="a-run",axis="epochs"} 7',
        "# HELP espalier_train_loss loss [nats]",
        "# TYPE espalier_train_loss gauge",
        'espalier_train_loss{run="a-run",category="train",metric="train/loss"} 0.25',
        "# HELP espalier_eval_loss loss",
        "# TYPE espalier_eval_loss gauge",
        'espalier_eval_loss{run="a-run",category="eval",metric="eval/loss"} -Inf',
        "# HELP espalier_eval_x x",
        "# TYPE espalier_eval_x gauge",
        'espalier_eval_x{run="a-run",category="eval",metric="eval/x"} NaN',
        "",
      ].join("\n"),
    );
  });

  it("escapes what names and labels hold", async () => {
    const odd = 'a "quoted" \\ name\nwith lines';
    const text = await scraped(
      [metricRecord({ step: 1, value: 1, category: odd, name: odd, key: "odd/key" })],
      { ...runInfo("a-run"), name: odd },
    );
    expect(text).toContain('# HELP espalier_odd_key a "quoted" \\\\ name\\nwith lines\n');
    const samples = samplesOf(text);
    expect(samples[0]?.labels.name).toBe(odd);
    expect(samples.at(-1)?.labels).toEqual({ run: "a-run", category: odd, metric: "odd/key" });
  });

  it("never has two metrics under one name", async () => {
    const histogram = { edges: [0, 1], counts: [2], min: 0, max: 1, sum: 1, sumSquares: 1, count: 2 };
    const keys = [
      "train/a/b",
      "train/a_b",
      "train/a.b",
      "train/a_b_sum",
      "größe",
      "gr_e",
      "step",
      "run_info",
    ];
    const records = keys.map((key, i) =>
      metricRecord({ key, step: 1, value: key === "train/a_b" ? histogram : i }),
    );
    const samples = samplesOf(await scraped(records));
    const byName = new Map<string, Set<string>>();
    for (const { name, labels } of samples)
      byName.set(name, new Set([...(byName.get(name) ?? []), labels.metric ?? ""]));
    for (const metrics of byName.values()) expect(metrics.size).toBe(1);
    expect(new Set(samples.map(({ labels }) => labels.metric))).toEqual(new Set([undefined, ...keys]));
  });

  it("has histograms as summaries whose sum and count grow", async () => {
    const sink = make();
    await sink.open?.(runInfo("a-run"));
    for (const step of [1, 2])
      sink.write([
        metricRecord({
          step,
          value: { edges: [0, 1], counts: [3], min: step, max: 9, sum: 6, sumSquares: 14, count: 3 },
          reduction: "histogram",
        }),
      ]);
    const text = await (await fetch(sink.url ?? "")).text();
    const labels = 'run="a-run",category="train",metric="train/loss"';
    expect(text).toContain(
      [
        "# TYPE espalier_train_loss summary",
        `espalier_train_loss{${labels},quantile="0"} 2`,
        `espalier_train_loss{${labels},quantile="1"} 9`,
        `espalier_train_loss_sum{${labels}} 12`,
        `espalier_train_loss_count{${labels}} 6`,
      ].join("\n"),
    );
  });

  it("keeps the newest value where a late one comes", async () => {
    expect(metricsOf(await scraped([...series(4, 5), ...series(1, 1)]))).toEqual([
      { key: "train/loss", value: 0.2 },
    ]);
  });

  it("answers at /metrics only, to readers only, and is gone after the run", async () => {
    const sink = make();
    await sink.open?.(runInfo("a-run"));
    const url = sink.url ?? "";
    expect(new URL(url).hostname).toBe("127.0.0.1");
    expect((await fetch(`${url}?x=1`)).status).toBe(200);
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect((await fetch(new URL("/", url))).status).toBe(404);
    await sink.close?.(completed);
    expect(sink.url).toBeUndefined();
    await expect(fetch(url)).rejects.toThrow();
  });

  it("waits for a port that is in use, by its delivery", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const sink = make({ port });
    await expect(sink.open?.(runInfo("a-run"))).rejects.toMatchObject({
      code: "SINK_UNAVAILABLE",
      message: expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
    });
    const time = manualTimers();
    const delivery = new Delivery(sink, { clock: time.clock, timers: time, warn: () => undefined });
    delivery.open(runInfo("a-run"));
    delivery.send(series(1, 3));
    while (delivery.summary().failures === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => other.close(resolve));
    while (delivery.summary().written < 3) {
      await new Promise((resolve) => setImmediate(resolve));
      await time.pass(100);
    }
    expect(metricsOf(await (await fetch(sink.url ?? "")).text())).toEqual([
      { key: "train/loss", value: 1 / 3 },
    ]);
  });

  it("does not keep a process alive, nor does one who is connected to it", async () => {
    const module = fileURLToPath(new URL("./prometheus.ts", import.meta.url));
    const script = `
      import { prometheusSink } from ${JSON.stringify(module)};
      const sink = prometheusSink({ port: 0 });
      await sink.open({ id: "a", name: "a", startedAt: 0, config: {} });
      await (await fetch(sink.url)).text();
      process.stdout.write(sink.url);
      process.stdin.once("data", () => process.stdin.destroy());`;
    const tsx = fileURLToPath(new URL("../../../node_modules/tsx/dist/cli.mjs", import.meta.url));
    const child = spawn(process.execPath, [tsx, "--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
      timeout: 50_000,
    });
    const url = await new Promise<string>((resolve) =>
      child.stdout.once("data", (said) => resolve(String(said))),
    );
    const { port, hostname } = new URL(url);
    const reader = connect(Number(port), hostname);
    reader.on("error", () => undefined);
    await new Promise<void>((resolve) => reader.once("connect", () => resolve()));
    child.stdin.write("go");
    const code = await new Promise((resolve) => child.once("exit", resolve));
    reader.destroy();
    expect(code).toBe(0);
  });

  it("answers among 300 connections that are held half open, and drops the oldest of them", async () => {
    const sink = make();
    await sink.open?.(runInfo("a-run"));
    const { port, hostname } = new URL(sink.url ?? "");
    const held = Array.from({ length: 300 }, () => connect(Number(port), hostname));
    let dropped = 0;
    const mostDropped = new Promise<void>((resolve) => {
      for (const socket of held) {
        socket.on("error", () => undefined);
        socket.on("connect", () => socket.write("GET /metrics HTTP/1.1\r\n"));
        socket.on("close", () => {
          dropped++;
          if (dropped === 268) resolve();
        });
      }
    });
    await mostDropped;
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => (await fetch(sink.url ?? "")).status),
    );
    expect(answers).toEqual(Array(8).fill(200));
    for (const socket of held) socket.destroy();
  });

  it("refuses ports that are none", () => {
    for (const port of [-1, 1.5, 65_536, Number.NaN])
      expect(() => prometheusSink({ port })).toThrow(/OPTION_INVALID/);
    expect(() => prometheusSink({ prot: 1 } as never)).toThrow(/did you mean "port"/);
  });
});
