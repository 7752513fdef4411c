import {
  CheckpointManager,
  type CheckpointStore,
  inspectStore,
  type Keep,
  type PartedStore,
  type StoreLock,
} from "../../checkpoint/index.ts";
import { bytesText, EspalierError } from "../../core/index.ts";
import { countIn, given, option, type Values } from "../options.ts";
import { openStore } from "./locate.ts";

export const pruneOptions = {
  json: option.json(),
  runs: option.runs(),
  last: option.count("<k>", "keep the newest k"),
  best: option.text(
    "<metric:min|max:k>",
    "keep the best k by a metric or score, such as validation/loss:min:2",
  ),
  every: option.text("<unit:n>", "keep the first of each interval, such as epochs:10"),
  dryRun: option.flag("say what would be removed, and remove nothing"),
};
export type PruneOptions = Values<typeof pruneOptions>;

/** What became of the checkpoints of a store; in a dry run, what would. */
type Pruned = Awaited<ReturnType<typeof prune>>;

/** Removes the checkpoints of a store that no rule keeps, or says which those are. */
export async function prune(path: string, options: Partial<PruneOptions>) {
  const keep = parseKeep(options);
  const { dryRun = false } = options;
  const store = await openStore(path);
  const notes: string[] = [];
  const manager = new CheckpointManager({
    store: dryRun ? untouched(store) : store,
    keep,
    run: "espalier checkpoint prune",
    warn: (text) => notes.push(text),
  });
  try {
    const entries = await inspectStore(store);
    const sizes = new Map(entries.map(({ name, bytes = 0 }) => [name, bytes]));
    const removed = (await manager.prune()).map((name) => ({ name, bytes: sizes.get(name) ?? 0 }));
    return { dryRun, removed, kept: sizes.size - removed.length, notes };
  } finally {
    await manager.close();
  }
}

/** The same for people. */
export function pruneText({ dryRun, removed, kept, notes }: Pruned): string {
  const freed = removed.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    ...notes,
    ...removed.map(
      ({ name, bytes }) => `${dryRun ? "would remove" : "removed"} ${name} (${bytesText(bytes)})`,
    ),
    `${dryRun ? "would keep" : "kept"} ${kept} of ${kept + removed.length} checkpoints, ${bytesText(freed)} ${dryRun ? "would be freed" : "freed"}`,
  ].join("\n");
}

/** The same store, in which nothing is removed and which needs no lock. */
function untouched(store: PartedStore): CheckpointStore {
  const nothing = async (): Promise<void> => undefined;
  const begin: StoreLock["begin"] = async () => {
    throw new EspalierError("STORE_READ_ONLY", "nothing is written in a dry run");
  };
  return { ...store, lock: async () => ({ cleaned: [], begin, remove: nothing, release: nothing }) };
}

/** `--last 3 --best validation/loss:min:2 --every epochs:10` as rules. */
export function parseKeep({ last, best, every }: Partial<PruneOptions>): Keep {
  if (last === undefined && best === undefined && every === undefined)
    throw new EspalierError("KEEP_INVALID", "nothing says which checkpoints stay", {
      fix: "give --last 3, --best validation/loss:min:2 or --every epochs:10, or several of them",
    });
  return {
    ...given({ last }),
    ...(best !== undefined && { best: parseBest(best) }),
    ...(every !== undefined && { every: parseEvery(every) }),
  };
}

function parseBest(text: string): NonNullable<Keep["best"]> {
  // From the right: names of metrics may hold colons.
  const [, metric, direction, k] = /^(.+):(min|max):([^:]*)$/.exec(text) ?? [];
  if (metric === undefined || k === undefined)
    throw invalid(
      "--best",
      text,
      "write validation/loss:min:2 or evaluation/return:max:2: the metric in full, which way is better, how many",
    );
  return { metric, direction: direction as "min" | "max", k: countIn(k, "--best") };
}

function parseEvery(text: string): NonNullable<Keep["every"]> {
  const [, unit, interval] = /^(.+):([^:]*)$/.exec(text) ?? [];
  if (unit === undefined || interval === undefined)
    throw invalid("--every", text, "write epochs:10 or updates:1000");
  return { [unit]: countIn(interval, "--every") };
}

const invalid = (option: string, text: string, fix: string): EspalierError =>
  new EspalierError("KEEP_INVALID", `${option} ${text} cannot be understood`, { fix });
