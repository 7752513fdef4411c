import { didYouMean, EspalierError } from "../../core/index.ts";
import { type Counters, hasBegun } from "../../schedule/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";
import { Checkpoint, latestWhole } from "../checkpoint.ts";
import { CheckpointManager } from "../manager.ts";
import { checkRanks, rankedIn } from "../ranks/ranked-store.ts";
import type { RestoreMode } from "../restore.ts";
import { unknownUnit } from "../retention.ts";
import { entryAt } from "../store/address.ts";
import { isS3Store } from "../store/s3-store.ts";
import type { CheckpointStore } from "../store/store.ts";
import type { CheckpointSettings } from "./checkpoint-hook.ts";
import { compileOptionsOf, openCheckpoint, someOf } from "./open-checkpoint.ts";

/** Locks the store for a run; with `fresh` it refuses one that has checkpoints. */
export async function openManager(
  settings: CheckpointSettings,
  context: TrainerContext,
  warn: (text: string) => void,
): Promise<CheckpointManager> {
  const { config, clock, counters } = context;
  const ranks = ranksOf(context);
  const { keep, onStart, on } = settings;
  const store = storeOf(settings, config.rank, ranks);
  const unknown = unknownUnit(keep?.every ?? {}, Object.keys(counters), "nothing here counts");
  if (unknown) throw unknown;
  // Before the store is locked, so that no rank waits for one that has been refused.
  if (onStart !== "fresh") await checkRanks(settings.store, ranks);
  if (ranks > 1 && isPath(onStart)) {
    const entry = entryAt(onStart);
    await checkRanks(entry.store, ranks, (name) => name === entry.name);
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
    `${store.location} has ${there.length} checkpoints, the newest ${there.at(-1)?.name}, and onStart is "fresh"`,
    { fix: 'use another directory or remove them; to go on from the newest, onStart: "resume"' },
  );
}

/** Ranks that save parts of their own: one where all hold the same state. */
const ranksOf = ({ config, sharesState }: TrainerContext): number => (sharesState ? 1 : config.ranks);

const isPath = (onStart: string): boolean => /[/\\]/.test(onStart);

const savedEarly = (on: string): string =>
  `checkpoints are saved at ${on}, and scores are measured later, at the end of epochs: save there, with a schedule in epochs or on: "onEpochEnd"`;

function storeOf(settings: CheckpointSettings, rank: number, ranks: number): CheckpointStore {
  if (ranks === 1) return settings.store;
  const { directory, patience, publish, store } = settings;
  const shared = directory !== undefined || isS3Store(store);
  if (!shared || publish.length > 0)
    throw new EspalierError(
      "CHECKPOINT_RANKS",
      `checkpointHook: the run has ${ranks} ranks, and ${shared ? "publishes" : "a store of its own"}`,
      { fix: "give a directory that all ranks see, or one on S3, and publish by hand" },
    );
  return rankedIn(store, { rank, ranks, ...(patience !== undefined && { patience }) });
}

/**
 * Restores a run before it begins, as `onStart` and `mode` say. Gives the checkpoint that the run goes on from;
 * undefined where it starts fresh or takes over parts of another run.
 */
export async function restoreRun(
  settings: CheckpointSettings,
  manager: CheckpointManager,
  context: TrainerContext,
  warn: (text: string) => void,
): Promise<{ readonly path: string; readonly counters: Counters } | undefined> {
  if (!settings.primary) return undefined;
  const found = await toRestore(settings, manager, context, warn);
  if (!found) return undefined;
  const { checkpoint, mode } = found;
  const { parameters, optimizer, allow } = settings;
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
  { onStart, mode = "exact" }: CheckpointSettings,
  manager: CheckpointManager,
  context: TrainerContext,
  warn: (text: string) => void,
): Promise<{ readonly checkpoint: Checkpoint; readonly mode: RestoreMode } | undefined> {
  if (onStart === "fresh") return undefined;
  // A run that was restored before it began, by `resumeFrom` or by hand, stays where it is.
  if (onStart === "resume" && hasBegun(context.counters)) return undefined;
  if (onStart === "resume" || mode !== "exact") {
    const checkpoint = await newestOf(manager, warn);
    if (checkpoint && onStart !== "resume")
      warn(`this run has begun before: it goes on from ${checkpoint.path}, and ${onStart} is not looked at`);
    if (checkpoint) return { checkpoint, mode: "exact" };
    if (onStart === "resume") return undefined;
  }
  return { checkpoint: await named(onStart, manager, context, warn), mode };
}

/** The newest whole checkpoint. Beside damaged ones no run starts fresh: there would be two runs in one directory. */
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
  const list = passedOver.map((text) => `\n  - ${text}`).join("");
  throw new EspalierError(
    "CHECKPOINT_DAMAGED",
    `${store.location} has checkpoints, and none of them is whole:${list}`,
    { fix: "bring back a whole copy of one; to start fresh, use another directory, or move these out of it" },
  );
}

async function named(
  onStart: string,
  manager: CheckpointManager,
  context: TrainerContext,
  warn: (text: string) => void,
): Promise<Checkpoint> {
  const { rank } = context.config;
  const ranks = ranksOf(context);
  if (isPath(onStart)) {
    if (ranks === 1) return openCheckpoint(onStart, warn);
    const { store, name } = entryAt(onStart);
    return Checkpoint.open(rankedIn(store, { rank, ranks }), name);
  }
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
