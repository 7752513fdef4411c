import type { TrainerContext, TrainerEvent, TrainerHook } from "../../../trainer/index.ts";
import type { Board, BoardPhase } from "./board.ts";
import type { WatchdogPlan } from "./options.ts";

/** Events that nobody watches by handling them: see fuse.ts of the trainer. */
const free = [
  "onTrainingStart",
  "onBatchesEnd",
  "onValidationStart",
  "onValidationEnd",
  "onError",
  "onTrainingEnd",
] as const;
/** Those that tell rollouts, batches and hooks apart. Never onBatchStart and onBatchEnd: batches stay fused. */
const telling = ["onEpochStart", "onRolloutStart", "onRolloutEnd", "onTrainPhaseEnd", "onEpochEnd"] as const;

interface Marking extends Pick<Board, "mark"> {
  /** Called before each first mark of an event. */
  start(context: TrainerContext): void;
}

/** Two hooks that mark what the run does: one before all others of an event, one after them. */
export function markers({ name, phases }: WatchdogPlan, { mark, start }: Marking): readonly TrainerHook[] {
  const begin = (context: TrainerContext): void => {
    start(context);
    mark("hook", context.event as TrainerEvent, context.counters);
  };
  const end = (context: TrainerContext): void => {
    const event = context.event as TrainerEvent;
    mark(phaseAfter(event, context, phases), event, context.counters);
  };
  const events: readonly TrainerEvent[] = phases ? [...free, ...telling] : free;
  const handlers = (handler: (context: TrainerContext) => void): Partial<TrainerHook> =>
    Object.fromEntries(events.map((event) => [event, handler]));
  const ranks = "all";
  return [
    { name: `${name}.begin`, ranks, priority: Number.POSITIVE_INFINITY, ...handlers(begin) },
    { name: `${name}.end`, ranks, priority: Number.NEGATIVE_INFINITY, ...handlers(end) },
  ];
}

/** What comes when all hooks of an event have run. */
function phaseAfter(event: TrainerEvent, { state }: TrainerContext, phases: boolean): BoardPhase {
  if (event === "onTrainingEnd") return "off";
  if (event === "onValidationStart") return "validation";
  if (!phases) return "other";
  if (event === "onRolloutStart") return "rollout";
  if (event === "onEpochStart" || event === "onRolloutEnd") return "train";
  // A rollout may take several calls; a batch is followed by another, until its phase ends.
  if (event === "onBatchesEnd") return state.phase === "rollout" ? "rollout" : "train";
  return "other";
}
