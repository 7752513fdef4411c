import type { Counters } from "../../schedule/index.ts";
import type { StateTree } from "../../state/index.ts";
import { evaluationScores, latestMetrics, type TrainerContext } from "../../trainer/index.ts";
import type { Json } from "../component/index.ts";
import type { CheckpointMetadata } from "../manager/index.ts";
import type { CheckpointHookOptions } from "./options.ts";

/**
 * What is filed with a checkpoint of this moment. Its metrics are the newest of batches and rollouts, and what hooks
 * logged as far as the logger has it. Scores, of evaluation and of validation (`validation.loss`), are filed only with the state they were
 * measured on: the best checkpoint is the one that was measured.
 */
export function filingOf(
  context: TrainerContext,
  trainer: StateTree | undefined,
  given: CheckpointHookOptions["metadata"],
): () => Promise<CheckpointMetadata> {
  const { counters, state, slots, settings, config } = context;
  const evaluated = slots.get(evaluationScores);
  const gathered = slots.get(latestMetrics)?.metrics;
  const validatedAt = (trainer as { readonly since?: Readonly<Record<string, Counters>> } | undefined)?.since
    ?.onValidationEnd;
  const scores = {
    ...(evaluated && isAt(evaluated.counters, counters) && evaluated.scores),
    ...(validatedAt && isAt(validatedAt, counters) && prefixed(state.validation ?? {})),
  };
  const metadata: Json | undefined = typeof given === "function" ? given(context) : given;
  return async () => ({
    counters,
    scores,
    metrics: { ...gathered, ...(await state.metrics()) },
    config: settings,
    compileOptions: compileOptionsOf(config),
    ...(metadata !== undefined && { metadata }),
  });
}

/** What of a run's configuration decides how programs are compiled. */
export const compileOptionsOf = ({ deterministic }: TrainerContext["config"]): Json => ({ deterministic });

const isAt = (a: Counters, b: Counters): boolean =>
  a.batches === b.batches && a.updates === b.updates && a.samples === b.samples;

const prefixed = (metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`validation.${name}`, value]));
