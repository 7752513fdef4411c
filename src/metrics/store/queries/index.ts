/** What is asked of a run's metrics. */
export { countMetrics, latest } from "./latest.ts";
export { series } from "./series.ts";
export { since } from "./since.ts";
