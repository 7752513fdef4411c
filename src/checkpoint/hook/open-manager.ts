import { EspalierError } from "../../core/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";
import { CheckpointManager } from "../manager/index.ts";
import { rankedStore } from "../ranks/index.ts";
import type { CheckpointStore } from "../store/index.ts";
import type { CheckpointPlan } from "./options.ts";

/** Takes the store for a run; refuses one with checkpoints where the run is to begin anew. */
export async function openManager(
  plan: CheckpointPlan,
  { config, clock }: TrainerContext,
  warn: (text: string) => void,
): Promise<CheckpointManager> {
  const { keep, onStart } = plan;
  const store = storeOf(plan, config);
  const manager = new CheckpointManager({ store, ...(keep && { keep }), clock, run: config.name, warn });
  await manager.open();
  if (onStart !== "fresh") return manager;
  const there = await manager.list();
  if (there.length === 0) return manager;
  await manager.close();
  throw new EspalierError(
    "STORE_NOT_EMPTY",
    `${store.location} has ${there.length} checkpoints, the newest ${there.at(-1)?.name}, and the run is to begin anew`,
    { fix: 'use another directory or remove them; to go on from the newest, onStart: "resume"' },
  );
}

function storeOf(plan: CheckpointPlan, { rank, ranks }: TrainerContext["config"]): CheckpointStore {
  if (ranks === 1) return plan.store;
  const { directory, patience, publish } = plan;
  if (directory === undefined || publish.length > 0)
    throw new EspalierError(
      "CHECKPOINT_RANKS",
      `checkpointHook: the run has ${ranks} ranks, and ${directory === undefined ? "a store of its own" : "publishes"}`,
      { fix: "give a directory that all ranks see, and publish by hand" },
    );
  return rankedStore(directory, { rank, ranks, ...(patience !== undefined && { patience }) });
}
