import type { Counters } from "../../schedule/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";
import type { Checkpoint, CheckpointManager, RestoreMode } from "../manager/index.ts";
import { compileOptionsOf } from "./filing.ts";
import { openCheckpoint } from "./open.ts";
import type { CheckpointPlan } from "./options.ts";

/**
 * Restores a run before it begins, as `onStart` and `mode` say. Gives the checkpoint that the run goes on from;
 * nothing where it begins anew or takes over parts of another run.
 */
export async function restoreRun(
  plan: CheckpointPlan,
  manager: CheckpointManager,
  context: TrainerContext,
  warn: (text: string) => void,
): Promise<{ readonly path: string; readonly counters: Counters } | undefined> {
  if (!plan.primary) return undefined;
  const found = await toRestore(plan, manager, context.counters, warn);
  if (!found) return undefined;
  const { checkpoint, mode } = found;
  const { parameters, optimizer, allow } = plan;
  const { counters } = await manager.restore(context.components, checkpoint, {
    mode,
    config: context.settings,
    compileOptions: compileOptionsOf(context.config),
    ...(parameters && { parameters }),
    ...(optimizer && { optimizer }),
    ...(allow && { allow }),
  });
  return mode === "exact" ? { path: checkpoint.path, counters } : undefined;
}

async function toRestore(
  { onStart, mode = "exact" }: CheckpointPlan,
  manager: CheckpointManager,
  counters: Counters,
  warn: (text: string) => void,
): Promise<{ readonly checkpoint: Checkpoint; readonly mode: RestoreMode } | undefined> {
  if (onStart === "fresh") return undefined;
  // A run that was restored before it began, by `resumeFrom` or by hand, stays where it is.
  if (onStart === "resume" && hasBegun(counters)) return undefined;
  if (onStart === "resume" || mode !== "exact") {
    const checkpoint = await manager.latest();
    if (checkpoint && onStart !== "resume")
      warn(`this run has begun before: it goes on from ${checkpoint.path}, and ${onStart} is not looked at`);
    if (checkpoint) return { checkpoint, mode: "exact" };
    if (onStart === "resume") return undefined;
  }
  const isPath = /[/\\]/.test(onStart);
  const checkpoint = await (isPath ? openCheckpoint(onStart, warn) : manager.load(onStart));
  return { checkpoint, mode };
}

const hasBegun = (counters: Counters): boolean =>
  Object.entries(counters).some(([unit, count]) => unit !== "seconds" && count > 0);
