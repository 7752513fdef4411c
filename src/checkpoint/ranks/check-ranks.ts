import { EspalierError } from "../../core/index.ts";
import { isCheckpointName } from "../manager/names.ts";
import type { CheckpointStore } from "../store/index.ts";
import { partName, ranksOf } from "./parts.ts";

/**
 * Refuses a store whose checkpoints have parts of other ranks than this run: it would begin anew beside
 * them. `looked` says which are looked at.
 */
export async function checkRanks(
  store: CheckpointStore,
  here: number,
  looked: (name: string) => boolean = isCheckpointName,
): Promise<void> {
  for (const name of (await store.list()).filter(looked)) {
    const saved = await ranksOf(store, name);
    // With several on both sides the settings are compared, with everything else.
    if (here === 1 ? saved === 1 : saved >= here) continue;
    const path = store.path(name);
    throw new EspalierError(
      "CHECKPOINT_MISMATCH",
      `${path} does not fit this run: ranks is ${saved} in the checkpoint and ${here} here`,
      {
        fix: `resume with ranks: ${saved}, or use another directory${saved > 1 && here === 1 ? `; to take over the parameters of one rank there: onStart: "${path}/${partName(0)}", mode: "warmStart"` : ""}`,
      },
    );
  }
}
