import { basename, dirname, resolve } from "node:path";
import { didYouMean, EspalierError } from "../../core/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";
import { CheckpointManager } from "../manager/index.ts";
import { checkRanks, rankedStore } from "../ranks/index.ts";
import { type CheckpointStore, localStore } from "../store/index.ts";
import type { CheckpointPlan } from "./options.ts";

/** Takes the store for a run; refuses one with checkpoints where the run is to begin anew. */
export async function openManager(
  plan: CheckpointPlan,
  { config, clock, counters }: TrainerContext,
  warn: (text: string) => void,
): Promise<CheckpointManager> {
  const { keep, onStart, on } = plan;
  const store = storeOf(plan, config);
  checkUnits(Object.keys(keep?.every ?? {}), Object.keys(counters));
  // Before the store is taken, so that no rank waits for one that has been refused.
  if (onStart !== "fresh") await checkRanks(plan.store, config.ranks);
  if (config.ranks > 1 && /[/\\]/.test(onStart)) {
    const path = resolve(onStart);
    await checkRanks(localStore(dirname(path)), config.ranks, (name) => name === basename(path));
  }
  const manager = new CheckpointManager({
    store,
    ...(keep && { keep }),
    ...(!["onValidationEnd", "onEpochEnd"].includes(on) && { hint: savedEarly(on) }),
    clock,
    run: config.name,
    warn,
  });
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

const savedEarly = (on: string): string =>
  `checkpoints are saved at ${on}, and scores are measured later, at the end of epochs: save there, with a schedule in epochs or on: "onEpochEnd"`;

/** A unit that nothing counts would keep nothing. */
function checkUnits(units: readonly string[], counted: readonly string[]): void {
  const known = counted.filter((name) => name !== "epoch");
  for (const unit of units)
    if (!known.includes(unit))
      throw new EspalierError(
        "UNIT_UNKNOWN",
        `keep.every: nothing here counts "${unit}"${didYouMean(unit, known)}`,
        { fix: `use one of the units counted here: ${known.join(", ")}` },
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
