import { declareMetric, type MetricDeclaration } from "../metric.ts";

const system = (name: string, unit: string, reduction: "mean" | "last" | "max"): MetricDeclaration =>
  declareMetric({ name, category: "system", unit, reduction });

/** What is known of the metrics that the metrics hook logs itself. */
export const hookMetrics: readonly MetricDeclaration[] = [
  declareMetric({ name: "samplesPerSecond", category: "time", unit: "samples/s" }),
  declareMetric({ name: "stepsPerSecond", category: "time", unit: "steps/s" }),
  declareMetric({ name: "applied", category: "train", unit: "share" }),
  declareMetric({ name: "episodes", category: "rollout", unit: "episodes", reduction: "sum" }),
  system("cpu.process", "share", "mean"),
  system("cpu.machine", "share", "mean"),
  system("memory.resident", "bytes", "last"),
  system("memory.heap", "bytes", "last"),
  system("memory.device", "bytes", "last"),
  system("tensors", "tensors", "last"),
  system("eventLoop.mean", "ms", "mean"),
  system("eventLoop.max", "ms", "max"),
];
