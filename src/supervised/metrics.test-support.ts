import { spec, Value } from "../engine/index.ts";
import { isSetMetric } from "./metrics.ts";

/** Inside a program: a metric of some batches, one after the other. */
export function ofBatches(
  metric: unknown,
  batches: readonly (readonly [outputs: Value, y: Value, weight?: Value])[],
  examples: number | undefined = batches.reduce((sum, [, y]) => sum + (y.shape[0] as number), 0),
): Readonly<Record<string, Value>> {
  const [first] = batches;
  if (!isSetMetric(metric) || !first) throw new Error("this is no metric of a set");
  const [outputs, y] = [first[0], first[1]].map(({ shape, dtype }) => spec(shape, dtype));
  const start = metric.init({ examples, outputs, y });
  const value: unknown = metric.value(batches.reduce((state, batch) => metric.add(state, ...batch), start));
  return value instanceof Value ? { value } : (value as Readonly<Record<string, Value>>);
}

/** Inside a program: a metric of one batch. */
export const ofBatch = (metric: unknown, outputs: Value, y: Value, weight?: Value): Value =>
  (typeof metric === "function" && !weight
    ? metric(outputs, y)
    : ofBatches(metric, [weight ? [outputs, y, weight] : [outputs, y]]).value) as Value;
