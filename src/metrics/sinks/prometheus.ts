import type { AddressInfo, Socket } from "node:net";
import { checkOptions, EspalierError, hex, node, type Options, option, sha256 } from "../../core/index.ts";
import { isHistogram, isScalar, type MetricRecord } from "../record.ts";
import type { RunInfo } from "../run-info.ts";
import { numeral, type Sink, sinkOptions } from "./sink.ts";

// The newest value of each metric (NewestValues), in Prometheus' text format (familyText), served over HTTP
// (serveMetrics).

const prometheusOptions = {
  ...sinkOptions,
  /** Default: 9464. 0 takes any that is free: see `url`. */
  port: option.integer({ min: 0, max: 65_535 }),
  /** Default: 127.0.0.1, this machine alone. */
  host: option.text({}),
};

/** Options of {@link prometheusSink}. */
export interface PrometheusOptions extends Options<typeof prometheusOptions> {}

/** A sink that serves its newest values. */
export interface PrometheusSink extends Sink {
  /** Where Prometheus finds the metrics, while the run goes on. */
  readonly url: string | undefined;
}

/**
 * An address where Prometheus finds the newest value of each metric, in its text format 0.0.4:
 *
 * ```text
 * # HELP espalier_train_loss loss [nats]
 * # TYPE espalier_train_loss gauge
 * espalier_train_loss{run="7f3a",category="train",metric="train/loss"} 0.25
 * ```
 *
 * The label `metric` has the key as it is; HELP has the name as it was logged, with its unit. A histogram is a summary:
 * sum and count of all that was logged since the process began, smallest and largest of the newest window. Texts are
 * left out. `espalier_step` says how far the run is. The address goes with the run.
 *
 * @example
 * ```ts
 * const sink = prometheusSink({ port: 9464, schedule: every({ seconds: 10 }) });
 * const logger = new Logger({ sinks: [sink] });
 * ```
 */
export function prometheusSink(options: PrometheusOptions = {}): PrometheusSink {
  checkOptions("prometheusSink", options, prometheusOptions);
  const { port = 9464, host = "127.0.0.1", ...choice } = options;
  let values: NewestValues | undefined;
  let server: MetricsServer | undefined;
  return {
    ...choice,
    name: choice.name ?? "prometheus",
    get url() {
      return server?.url;
    },
    async open(run) {
      const current = new NewestValues(run);
      values = current;
      await server?.close();
      server = undefined;
      server = await serveMetrics(host, port, () => current.text());
    },
    write(records) {
      values?.add(records);
    },
    async close() {
      await server?.close();
      server = undefined;
    },
  };
}

const RUN = "espalier_run_info";
const STEP = "espalier_step";

interface Newest {
  readonly record: MetricRecord;
  /** Over all windows, as Prometheus wants them: they only grow. */
  readonly sum: number;
  readonly count: number;
}

/** The newest value of each metric of a run. */
class NewestValues {
  readonly #run: RunInfo;
  readonly #names = new Map<string, string>();
  readonly #taken = new Set([RUN, STEP]);
  readonly #newest = new Map<string, Newest>();
  readonly #steps = new Map<string, number>();

  constructor(run: RunInfo) {
    this.#run = run;
  }

  /** Takes them in. A late value is not the newest. */
  add(records: readonly MetricRecord[]): void {
    for (const record of records) {
      const { key, step, axis, value } = record;
      this.#steps.set(axis, Math.max(step, this.#steps.get(axis) ?? Number.NEGATIVE_INFINITY));
      if (typeof value === "string") continue;
      const before = this.#newest.get(key);
      const { sum, count } = typeof value === "object" ? value : { sum: 0, count: 0 };
      this.#newest.set(key, {
        record: before && before.record.step > step ? before.record : record,
        sum: (before?.sum ?? 0) + sum,
        count: (before?.count ?? 0) + count,
      });
    }
  }

  /** All of them in Prometheus' text format, version 0.0.4. */
  text(): string {
    const { id: run, name } = this.#run;
    const steps = [...this.#steps].map(([axis, value]) => ({ labels: { run, axis }, value }));
    return [
      familyText(RUN, "The run these metrics are of", "gauge", [{ labels: { run, name }, value: 1 }]),
      familyText(STEP, "The newest step with a metric, on each axis", "gauge", steps),
      ...Array.from(this.#newest.values(), (newest) => this.#textOf(newest)),
    ].join("");
  }

  #textOf({ record, sum, count }: Newest): string {
    const { key, category, unit } = record;
    const labels = { run: this.#run.id, category, metric: key };
    const name = this.#nameOf(key);
    const help = unit === undefined ? record.name : `${record.name} [${unit}]`;
    if (!isHistogram(record))
      return familyText(name, help, "gauge", isScalar(record) ? [{ labels, value: record.value }] : []);
    return familyText(name, help, "summary", [
      // The quantiles that are known exactly.
      { labels: { ...labels, quantile: "0" }, value: record.value.min },
      { labels: { ...labels, quantile: "1" }, value: record.value.max },
      { suffix: "_sum", labels, value: sum },
      { suffix: "_count", labels, value: count },
    ]);
  }

  /** A name that Prometheus takes; no two metrics have the same. */
  #nameOf(key: string): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const plain = `espalier_${key.replace(/[^a-zA-Z0-9_]+/g, "_")}`;
    const hash = hex(sha256().update(key).digest()).slice(0, 8);
    const isTaken = (name: string): boolean => parts.some((part) => this.#taken.has(`${name}${part}`));
    let name = plain;
    for (let i = 1; isTaken(name); i++) name = `${plain}_${hash}${i === 1 ? "" : i}`;
    this.#names.set(key, name);
    for (const part of parts) this.#taken.add(`${name}${part}`);
    return name;
  }
}

/** Endings of the names that a summary uses. */
const parts = ["", "_sum", "_count"];

/** One line of a family. */
interface Sample {
  /** Put behind the family's name. */
  readonly suffix?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The content type of the text format 0.0.4. */
const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

function numberText(value: number): string {
  if (Number.isFinite(value)) return numeral(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

/** A metric: what it is, and a line for each sample. */
function familyText(
  name: string,
  help: string,
  type: "gauge" | "summary",
  samples: readonly Sample[],
): string {
  const lines = samples.map(({ suffix = "", labels, value }) => {
    const pairs = Object.entries(labels).map(
      ([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`,
    );
    return `${name}${suffix}{${pairs.join(",")}} ${numberText(value)}\n`;
  });
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Connections at a time: a scrape or two, not what a scanner or a broken proxy opens. */
const mostConnections = 32;
/** Milliseconds: for a request to be there, and for a connection on which nothing happens. */
const patience = 5000;

/**
 * Serves `text()` at /metrics. Does not keep the process alive. Connections beyond a few end the one that has
 * been idle for the longest, so that a client that only holds them open neither keeps others out nor slows the run.
 */
async function serveMetrics(host: string, port: number, text: () => string): Promise<MetricsServer> {
  const { createServer } = node.http;
  const timeouts = { headersTimeout: patience, requestTimeout: patience, keepAliveTimeout: patience };
  const server = createServer({ ...timeouts, connectionsCheckingInterval: patience }, (request, response) => {
    const { socket } = request;
    answering.add(socket);
    response.on("close", () => answering.delete(socket));
    const path = request.url?.split("?")[0];
    if (path !== "/metrics") response.writeHead(404).end("see /metrics\n");
    else if (request.method !== "GET" && request.method !== "HEAD")
      response.writeHead(405, { allow: "GET, HEAD" }).end();
    else response.writeHead(200, { "content-type": EXPOSITION_TYPE }).end(text());
  });
  const answering = new Set<Socket>();
  const open = new Set<Socket>(); // Oldest first.
  server.on("connection", (socket) => {
    socket.unref();
    socket.setTimeout(patience, () => socket.destroy());
    socket.on("close", () => open.delete(socket));
    open.add(socket);
    if (open.size <= mostConnections) return;
    const idle = [...open].find((other) => !answering.has(other));
    idle?.destroy();
  });
  server.unref();
  try {
    server.listen(port, host);
    await node.events.once(server, "listening");
  } catch (error) {
    const cause = error as NodeJS.ErrnoException;
    const why = cause.code === "EADDRINUSE" ? "is in use" : `cannot be had: ${cause.message}`;
    throw new EspalierError("SINK_UNAVAILABLE", `prometheusSink: port ${port} of ${host} ${why}`, {
      fix: "choose another port, or 0 for any that is free",
      cause,
    });
  }
  // Nothing that goes wrong with a reader is the business of the run.
  server.on("error", () => undefined);
  const { address, family, port: given } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${given}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
