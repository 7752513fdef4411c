import type { CheckpointEvaluationOptions } from "../../rl/index.ts";
import { columns } from "../columns.ts";

export type EvaluateRequest = Pick<
  CheckpointEvaluationOptions,
  "environment" | "suites" | "episodes" | "seed" | "deterministic" | "engine" | "store" | "run"
>;

/** What the command found. */
export interface Evaluation {
  readonly checkpoint: string;
  readonly run: string;
  readonly step: number;
  /** By suite. */
  readonly scores: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Evaluates a checkpoint, and files the scores where that is asked for. */
export async function evaluate(address: string, request: EvaluateRequest): Promise<Evaluation> {
  // Engine, environments and databases are needed here alone: other commands start faster without.
  const { evaluateCheckpoint } = await import("../../rl/index.ts");
  const { uri, manifest, results } = await evaluateCheckpoint(address, request);
  const scores = Object.fromEntries(results.map(({ suite, scores }) => [suite, scores]));
  return { checkpoint: uri, run: manifest.run, step: manifest.counters.steps, scores };
}

/** The table that the command prints. */
export function evaluationText({ checkpoint, run, step, scores }: Evaluation): string {
  const names = ["return", "return.deviation", "return.min", "return.max", "length", "episodes"] as const;
  const rows = Object.entries(scores).map(([suite, each]) => [
    suite,
    ...names.map((name) => shortNumber(each[name] ?? Number.NaN)),
  ]);
  const head = ["suite", "return", "deviation", "min", "max", "length", "episodes"];
  return [`${checkpoint} (run ${run}, step ${step})`, ...columns([head, ...rows])].join("\n");
}

const shortNumber = (value: number): string => String(Number(value.toPrecision(5)));
