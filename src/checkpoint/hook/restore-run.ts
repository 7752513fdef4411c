import { basename, dirname, resolve } from "node:path";
import { didYouMean, EspalierError } from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { TrainerContext, TrainingConfig } from "../../trainer/index.ts";
import { latestWhole } from "../manager/catalog.ts";
import { Checkpoint, type CheckpointManager, type RestoreMode } from "../manager/index.ts";
import { rankedStore } from "../ranks/index.ts";
import { compileOptionsOf } from "./filing.ts";
import { openCheckpoint, someOf } from "./open.ts";
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
  const found = await toRestore(plan, manager, context, warn);
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
  { counters, config }: TrainerContext,
  warn: (text: string) => void,
): Promise<{ readonly checkpoint: Checkpoint; readonly mode: RestoreMode } | undefined> {
  if (onStart === "fresh") return undefined;
  // A run that was restored before it began, by `resumeFrom` or by hand, stays where it is.
  if (onStart === "resume" && hasBegun(counters)) return undefined;
  if (onStart === "resume" || mode !== "exact") {
    const checkpoint = await newestOf(manager, warn);
    if (checkpoint && onStart !== "resume")
      warn(`this run has begun before: it goes on from ${checkpoint.path}, and ${onStart} is not looked at`);
    if (checkpoint) return { checkpoint, mode: "exact" };
    if (onStart === "resume") return undefined;
  }
  return { checkpoint: await named(onStart, manager, config, warn), mode };
}

/** The newest whole checkpoint. Beside damaged ones nothing begins anew: whoever looks again would find two runs. */
async function newestOf(
  { store }: CheckpointManager,
  warn: (text: string) => void,
): Promise<Checkpoint | undefined> {
  const passedOver: string[] = [];
  const newest = await latestWhole(store, (text) => void passedOver.push(text));
  if (newest || passedOver.length === 0) {
    for (const text of passedOver) warn(text);
    return newest;
  }
  throw new EspalierError(
    "CHECKPOINT_DAMAGED",
    `${store.location} has checkpoints, and none of them is whole:${passedOver.map((text) => `\n  - ${text}`).join("")}`,
    {
      fix: "bring back a whole copy of one; to begin anew, use another directory, or move these out of it",
    },
  );
}

async function named(
  onStart: string,
  manager: CheckpointManager,
  { rank, ranks }: TrainingConfig,
  warn: (text: string) => void,
): Promise<Checkpoint> {
  if (!/[/\\]/.test(onStart)) {
    const there = (await manager.list()).map(({ name }) => name);
    if (there.includes(onStart)) return manager.load(onStart);
    throw new EspalierError(
      "CHECKPOINT_MISSING",
      `onStart is "${onStart}", and ${manager.store.location} has no checkpoint of that name${didYouMean(onStart, ["resume", "fresh", ...there])}`,
      {
        fix: `${there.length > 0 ? `there are ${someOf(there)}` : "it has none"}; else write "resume", "fresh", or a path (with a slash: "./runs")`,
      },
    );
  }
  if (ranks === 1) return openCheckpoint(onStart, warn);
  const path = resolve(onStart);
  return Checkpoint.open(rankedStore(dirname(path), { rank, ranks }), basename(path));
}

const hasBegun = (counters: Counters): boolean =>
  Object.entries(counters).some(([unit, count]) => unit !== "seconds" && count > 0);
