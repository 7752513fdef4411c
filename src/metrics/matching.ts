import { checkMetricPattern } from "../core/index.ts";
import type { MetricRecord } from "./record.ts";

/**
 * Finds the first of the patterns that a metric's key, `category/name`, fits, where `*` stands for any characters.
 * `option` is what the patterns were given as, for the error where one names no category.
 */
export function matcherOf(
  patterns: readonly string[],
  option: string,
): (metric: Pick<MetricRecord, "key">) => number | undefined {
  for (const pattern of patterns) checkMetricPattern(option, pattern);
  const expressions = patterns.map(
    (pattern) => new RegExp(`^${pattern.split("*").map(literal).join(".*")}$`, "su"),
  );
  return ({ key }) => {
    const index = expressions.findIndex((expression) => expression.test(key));
    return index === -1 ? undefined : index;
  };
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
