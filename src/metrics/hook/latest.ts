import type { Counters } from "../../schedule/index.ts";
import type { LatestMetrics } from "../../trainer/index.ts";
import type { Logger } from "../logger/index.ts";

/** Categories of what no two runs share, and of scores: whoever files those knows the state they were measured on. */
const left: readonly string[] = ["time", "system", "validation", "evaluation"];

/**
 * Metrics as the logger has them, gathered when somebody looks. Those of batches go by their names, others by their
 * keys, such as `rollout/reward`.
 */
export function latestOf(logger: Pick<Logger, "latest">, counters: Counters): LatestMetrics {
  let metrics: LatestMetrics["metrics"] | undefined;
  return {
    counters,
    get metrics() {
      metrics ??= Object.fromEntries(
        Object.entries(logger.latest()).flatMap(([key, value]) => {
          const category = key.slice(0, key.indexOf("/"));
          if (left.includes(category)) return [];
          return [[category === "train" ? key.slice("train/".length) : key, value]];
        }),
      );
      return metrics;
    },
  };
}
