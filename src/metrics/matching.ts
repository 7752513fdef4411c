import type { MetricRecord } from "./record.ts";

/** Finds the first of the patterns that a metric's name or key fits, where `*` stands for any characters. */
export function matcherOf(
  patterns: readonly string[],
): (metric: Pick<MetricRecord, "name" | "key">) => number | undefined {
  const expressions = patterns.map(
    (pattern) => new RegExp(`^${pattern.split("*").map(literal).join(".*")}$`, "su"),
  );
  return ({ name, key }) => {
    const index = expressions.findIndex((expression) => expression.test(key) || expression.test(name));
    return index === -1 ? undefined : index;
  };
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
