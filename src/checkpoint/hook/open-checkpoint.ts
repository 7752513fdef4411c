import { didYouMean, EspalierError, node } from "../../core/index.ts";
import type { Trainer, TrainerContext } from "../../trainer/index.ts";
import { Checkpoint, latestWhole, listCheckpoints } from "../checkpoint.ts";
import type { Json } from "../json.ts";
import { CheckpointManager } from "../manager.ts";
import type { Manifest } from "../manifest.ts";
import { partName, ranksOf } from "../ranks/ranked-store.ts";
import type { RestoreOptions } from "../restore.ts";
import { entryAt, storeAt } from "../store/address.ts";

/**
 * Opens the checkpoint at an address, a path, a `file:` URI or `s3://bucket/prefix`, or the newest whole one of the run
 * directory there.
 *
 * @example
 * ```ts
 * const { manifest } = await openCheckpoint("runs/mnist");
 * ```
 */
export async function openCheckpoint(
  address: string | URL,
  warn: (text: string) => void = () => undefined,
): Promise<Checkpoint> {
  const { store: parent, name: own } = entryAt(address);
  try {
    return await Checkpoint.open(parent, own);
  } catch (error) {
    if (!(error instanceof EspalierError) || !["CHECKPOINT_MISSING", "STORE_NAME"].includes(error.code))
      throw error;
  }
  const store = storeAt(address);
  const at = store.location;
  const ranks = await ranksOf(parent, own);
  if (ranks > 1) throw ofRanks(`${at} is a checkpoint`, ranks, at);
  const newest = await latestWhole(store, warn);
  if (newest) return newest;
  for (const { name } of [...(await listCheckpoints(store))].reverse()) {
    const count = await ranksOf(store, name);
    if (count > 1) throw ofRanks(`${at} holds checkpoints`, count, store.path(name));
  }
  const beside = (await listCheckpoints(parent).catch(() => [])).map(({ name }) => name);
  throw new EspalierError(
    "CHECKPOINT_MISSING",
    `there is no whole checkpoint at ${at}${didYouMean(own, beside)}`,
    {
      fix: `give the directory of a checkpoint, or a directory that holds some${beside.length > 0 ? `; in ${parent.location} there are ${someOf(beside)}` : ""}`,
    },
  );
}

const ofRanks = (what: string, ranks: number, path: string): EspalierError =>
  new EspalierError("CHECKPOINT_RANKS", `${what} of ${ranks} ranks`, {
    fix: `give the part of one rank: ${node.path.join(path, partName(0))}`,
  });

/** Names for a message: all, or the last of many. */
export const someOf = (names: readonly string[], most = 5): string =>
  `${names.length > most ? `${names.length - most} others, ` : ""}${names.slice(-most).join(", ")}`;

/** Options of {@link resumeTrainer}. */
export interface ResumeOptions extends Pick<RestoreOptions, "mode" | "parameters" | "optimizer" | "allow"> {
  readonly warn?: (text: string) => void;
}

/**
 * Restores a trainer that has not begun from the checkpoint at an address, as {@link openCheckpoint} takes it, or from
 * the newest whole one of the run directory there. A {@link checkpointHook} of that trainer leaves it as it is and saves
 * from there on.
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
  address: string | URL,
  options: ResumeOptions = {},
): Promise<Manifest> {
  const { warn, ...given } = options;
  const checkpoint = await openCheckpoint(address, warn);
  const { store } = entryAt(checkpoint.path);
  const manager = new CheckpointManager({ store, ...(warn && { warn }) });
  return manager.restore(trainer.components, checkpoint, {
    ...given,
    config: trainer.settings,
    compileOptions: compileOptionsOf(trainer.config),
  });
}

/** The part of a run's configuration that decides how programs are compiled. */
export const compileOptionsOf = ({ deterministic }: TrainerContext["config"]): Json => ({ deterministic });
