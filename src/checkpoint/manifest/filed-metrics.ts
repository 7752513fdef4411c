import { metricParts } from "../../core/index.ts";
import type { Manifest } from "./manifest.ts";

type Filed = Pick<Manifest, "metrics" | "scores">;

/** Categories whose metrics stand in manifests under their full names. */
const inFull = ["train", "rollout", "validation", "evaluation", "health", "time", "system"];

/**
 * All metrics and scores of a checkpoint by their full names. Manifests have shorter ones, which never change: `loss`
 * is `train/loss`, the score `validation.loss` is `validation/loss`, and any other score is of `evaluation`.
 *
 * @example
 * ```ts
 * filedMetrics({ metrics: { loss: 1 }, scores: { "validation.loss": 2, return: 3 } });
 * // { "train/loss": 1, "validation/loss": 2, "evaluation/return": 3 }
 * ```
 */
export function filedMetrics({ metrics, scores }: Filed): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [name, value] of Object.entries(metrics)) {
    // What rollouts gave stands under both names where a metrics hook gathered it.
    if (!Object.hasOwn(metrics, `rollout/${name}`)) found[isInFull(name) ? name : `train/${name}`] = value;
  }
  for (const [name, value] of Object.entries(scores)) {
    const validated = name.startsWith("validation.");
    if (isInFull(name)) found[name] = value;
    else found[validated ? name.replace(".", "/") : `evaluation/${name}`] = value;
  }
  return found;
}

/** One of them. Undefined where the checkpoint does not have it. */
export function filedMetric(manifest: Filed, full: string): number | undefined {
  const { metrics, scores } = manifest;
  const { category = "", name = "" } = metricParts(full) ?? {};
  // Without a metrics hook, what rollouts gave stands under its own name alone.
  const short = category === "rollout" || category === "train" ? metrics[name] : undefined;
  return filedMetrics(manifest)[full] ?? scores[full] ?? metrics[full] ?? short;
}

const isInFull = (name: string): boolean => inFull.includes(metricParts(name)?.category ?? "");
