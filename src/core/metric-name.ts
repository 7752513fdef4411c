import { EspalierError } from "./error.ts";
import { shown } from "./options.ts";

/**
 * A metric is named in full by its category and its name within it: `validation/accuracy`, `train/loss`,
 * `rollout/episode.return`, `evaluation/return`. That is how it is shown and how it is asked for wherever more than one
 * category could be meant. Records of one kind have the names alone: `result.validation.accuracy`.
 */
export interface MetricName {
  readonly category: string;
  readonly name: string;
}

/** The parts of a metric's full name. Undefined where it names no category. */
export function metricParts(full: string): MetricName | undefined {
  const slash = full.indexOf("/");
  if (slash <= 0 || slash === full.length - 1) return undefined;
  return { category: full.slice(0, slash), name: full.slice(slash + 1) };
}

/**
 * Checks the name of a metric that an option was given, and gives its parts. With `categories` it must be of one of
 * them.
 */
export function checkMetricName(
  option: string,
  given: unknown,
  categories?: readonly string[],
  code = "OPTION_INVALID",
): MetricName {
  const parts = typeof given === "string" ? metricParts(given) : undefined;
  if (parts && (categories?.includes(parts.category) ?? true)) return parts;
  throw new EspalierError(code, `${option} is ${shown(given)}`, { fix: fixOf(given, categories) });
}

/** Refuses a pattern of full names that could fit none: one that names neither a category nor any characters for it. */
export function checkMetricPattern(option: string, pattern: string): void {
  if (pattern.includes("/") || pattern.startsWith("*")) return;
  throw new EspalierError("OPTION_INVALID", `${option} is ${shown(pattern)}, which names no category`, {
    fix: `${fixOf(pattern)}; "*/${pattern}" means all categories`,
  });
}

/** Categories of metrics that a ramp can follow: what an epoch gives by itself. */
export const followedCategories: readonly string[] = ["train", "rollout", "validation"];

const usual = ["train", "rollout", "validation", "evaluation"];

/** Suggests the intended name: `validation.loss` is `validation/loss`, and `loss` may be of any category. */
function fixOf(given: unknown, categories: readonly string[] = usual): string {
  if (typeof given !== "string" || given === "") return 'name it in full: "validation/accuracy"';
  const dotted = categories.find((category) => given.startsWith(`${category}.`));
  if (dotted !== undefined) return `write "${dotted}/${given.slice(dotted.length + 1)}"`;
  const bare = given.replace(/^\/|\/$/g, "");
  return `name its category too: ${categories.map((category) => `"${category}/${bare}"`).join(", ")}`;
}
