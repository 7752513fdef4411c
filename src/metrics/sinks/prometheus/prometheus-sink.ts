import { badOption, checkNames, shown } from "../../../core/index.ts";
import type { Sink, SinkOptions } from "../sink.ts";
import { exposition } from "./exposition.ts";
import { NewestValues } from "./newest.ts";
import { type MetricsServer, serveMetrics } from "./server.ts";

/** Options of {@link prometheusSink}. */
export interface PrometheusOptions extends SinkOptions {
  /** Default 9464. With 0 any that is free: see `url`. */
  readonly port?: number;
  /** Default 127.0.0.1: nobody but this machine. */
  readonly host?: string;
}

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
  checkNames("prometheusSink", options, ["port", "host", "name", "schedule", "categories", "metrics"]);
  const { port = 9464, host = "127.0.0.1", ...choice } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw badOption("prometheusSink", `port is ${shown(port)}`, "give a whole number from 0 to 65535");
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
      server = await serveMetrics(host, port, () => exposition(current.families()));
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
