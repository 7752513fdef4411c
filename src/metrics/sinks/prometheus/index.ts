export { type PrometheusOptions, type PrometheusSink, prometheusSink } from "./prometheus-sink.ts";
