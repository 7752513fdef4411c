import { dirname } from "node:path";
import type { Trainer } from "../../trainer/index.ts";
import { CheckpointManager, type RestoreOptions } from "../manager/index.ts";
import type { Manifest } from "../manifest/index.ts";
import { localStore } from "../store/index.ts";
import { compileOptionsOf } from "./filing.ts";
import { openCheckpoint } from "./open.ts";

/** Options of {@link resumeTrainer}. */
export interface ResumeOptions extends Pick<RestoreOptions, "mode" | "parameters" | "optimizer" | "allow"> {
  readonly warn?: (text: string) => void;
}

/**
 * Restores a trainer that has not begun from the checkpoint at a path, or from the newest whole one of the run
 * directory there. A {@link checkpointHook} of that trainer leaves it as it is and saves from there on.
 *
 * @example
 * ```ts
 * const trainer = new Trainer({ task, config });
 * const { counters } = await resumeTrainer(trainer, "runs/mnist");
 * await trainer.train();
 * ```
 */
export async function resumeTrainer(
  trainer: Pick<Trainer, "components" | "settings" | "config">,
  path: string,
  options: ResumeOptions = {},
): Promise<Manifest> {
  const { warn, ...given } = options;
  const checkpoint = await openCheckpoint(path, warn);
  const manager = new CheckpointManager({
    store: localStore(dirname(checkpoint.path)),
    ...(warn && { warn }),
  });
  return manager.restore(trainer.components, checkpoint, {
    ...given,
    config: trainer.settings,
    compileOptions: compileOptionsOf(trainer.config),
  });
}
