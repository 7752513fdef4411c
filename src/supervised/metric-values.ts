import { EspalierError, shown } from "../core/index.ts";
import { Value } from "../engine/index.ts";
import type { Metrics } from "./objective.ts";

/** What the metrics say of a batch, each one number: its mean over batches is taken by their examples. */
export const metricValues = (
  metrics: Metrics<never, never>,
  outputs: unknown,
  y: unknown,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, metric]) => [
      name,
      oneNumber(name, metric(outputs as never, y as never)),
    ]),
  );

function oneNumber(name: string, given: unknown): Value {
  if (!(given instanceof Value))
    throw new EspalierError(
      "METRIC_INVALID",
      `the metric "${name}" gave ${shown(given)}, which is no value`,
      {
        fix: "compute it from the outputs and the targets, such as np.mean(...); a constant is np.full([], 2)",
      },
    );
  if (given.ndim === 0) return given;
  throw new EspalierError(
    "METRIC_INVALID",
    `the metric "${name}" gave ${given.type.text}, which is not one number`,
    { fix: "give the mean over the batch's examples, np.mean(...), or several metrics of one number each" },
  );
}
