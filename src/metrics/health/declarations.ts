import { declareMetric, type MetricDeclaration } from "../metric.ts";

const counts = ["gradients.nan", "gradients.infinite", "gradients.exploding", "gradients.vanishing"];
const spikes = ["lossSpikes.spikes", "lossSpikes.notFinite"];

/**
 * What the monitors log under their default names: counts since the run began, of which the last of a window counts.
 * Every logger knows them.
 */
export const healthMetrics: readonly MetricDeclaration[] = [...counts, ...spikes].map((name) =>
  declareMetric({ name, category: "health", reduction: "last" }),
);
