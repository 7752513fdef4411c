/** What lies in the directory of a run beside its log: checkpoints and recorded episodes. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import {
  anyRanksStore,
  Checkpoint,
  CheckpointManager,
  inspectCheckpoint,
  inspectStore,
  type PartedStore,
} from "../checkpoint/index.ts";
import { EspalierError } from "../core/index.ts";
import { directoryOf, type Runs } from "./runs.ts";
import { inside } from "./safety.ts";

/** The checkpoints of a run's directory; undefined where it has none. */
async function checkpointsOf(runs: Runs, id: string): Promise<PartedStore | undefined> {
  const found = inside(directoryOf(runs, await runs.row(id)), "checkpoints");
  return found === undefined ? undefined : anyRanksStore(found);
}

export async function listCheckpoints(runs: Runs, id: string) {
  const store = await checkpointsOf(runs, id);
  if (!store) return [];
  const marked = new Set(await store.listProtected?.());
  const all = await inspectStore(store);
  // One that cannot be read is in the list too: verifying it says what is wrong, and where.
  return all.map(({ problem: _, ...each }) => ({ ...each, protected: marked.has(each.name) })).reverse();
}

async function findCheckpoint(runs: Runs, id: string, name: string) {
  const store = await checkpointsOf(runs, id);
  const summary = store && (await listCheckpoints(runs, id)).find((each) => each.name === name);
  if (summary && inside(store.location, name) !== undefined) return { store, summary };
  throw new EspalierError("CHECKPOINT_MISSING", "the run has no such checkpoint in its directory", {
    fix: "it may have been pruned: reload the list",
  });
}

/** What lies in a checkpoint. Of several ranks each part is shown. */
export async function readCheckpoint(runs: Runs, id: string, name: string) {
  const { store, summary } = await findCheckpoint(runs, id, name);
  const parts = await store.partsOf(name);
  const inspected = await Promise.all(
    parts.map(async (part) => inspectCheckpoint(await Checkpoint.open(part, name))),
  );
  const components = inspected.flatMap((each, rank) =>
    each.components.map((component) => ({
      ...component,
      name: parts.length > 1 ? `rank ${rank}: ${component.name}` : component.name,
    })),
  );
  return { ...summary, components };
}

export async function verifyCheckpoint(runs: Runs, id: string, name: string) {
  const { store } = await findCheckpoint(runs, id, name);
  const problems = await new CheckpointManager({ store }).verify(name);
  return { problems };
}

/** Protects a checkpoint from being pruned, by the run itself too, or protects it no longer. */
export async function protectCheckpoint(runs: Runs, id: string, name: string, isProtected: boolean) {
  const { store, summary } = await findCheckpoint(runs, id, name);
  await store.protect?.(name, isProtected);
  return { ...summary, protected: isProtected };
}

const SUFFIX = ".replay";
const MOST_REPLAYS = 200;

/** The files of recorded episodes, newest first: those of the directory, and those that the run filed, where they lie among runs. */
async function replayFiles(runs: Runs, id: string) {
  const row = await runs.row(id);
  const filed = await runs.storeOf(id).list(id, "replay");
  const steps = new Map(filed.map(({ path, step }) => [basename(path, SUFFIX), step]));
  const own = inside(directoryOf(runs, row), "replays");
  const names = own === undefined ? [] : readdirSync(own).filter((name) => !name.startsWith("."));
  const paths = [...filed.map(({ path }) => path), ...names.map((name) => join(own ?? "", name))];
  const files = new Map(
    paths
      .flatMap((path) => amongRuns(runs, path))
      .map((path) => {
        const name = basename(path, SUFFIX);
        return [name, { name, path, at: statSync(path).mtimeMs, step: steps.get(name) }] as const;
      }),
  );
  return [...files.values()].sort((a, b) => b.at - a.at).slice(0, MOST_REPLAYS);
}

/** The path of a replay, where it leads to a file below the directory of runs. */
function amongRuns({ directory }: Runs, path: string): readonly string[] {
  try {
    const real = realpathSync(path);
    const isReplay = real.endsWith(SUFFIX) && statSync(real).isFile();
    return isReplay && real.startsWith(realpathSync(directory) + sep) ? [real] : [];
  } catch {
    return [];
  }
}

/** Recorded episodes of a run. Of a directory that runs share, files that another run has written over are left out. */
export async function listReplays(runs: Runs, id: string) {
  const { readReplay } = await import("../rl/index.ts");
  const own = (await runs.row(id)).name;
  const others = new Set((await runs.rows()).map(({ name }) => name).filter((name) => name !== own));
  const listed = await Promise.all(
    (await replayFiles(runs, id)).map(async ({ name, path, at, step }) => {
      const replay = await readReplay(path).catch(() => undefined);
      if (others.has(String(replay?.about.run))) return [];
      const filed = Number(replay?.about.steps ?? replay?.about.step ?? 0);
      return {
        name,
        at,
        step: step ?? (Number.isFinite(filed) ? filed : 0),
        steps: replay?.length,
        return: replay?.return,
      };
    }),
  );
  return listed.flat();
}

/** Pictures a second, and the most of a film: of longer episodes every second one, or fewer, is shown. */
const FPS = 30;
const MOST_FRAMES = 1000;

/** Plays a recorded episode again and draws it: SVG documents without scripts, one a frame. */
export async function readFilm(runs: Runs, id: string, name: string) {
  const found = (await replayFiles(runs, id)).find((each) => each.name === name);
  if (!found) throw new EspalierError("REPLAY_MISSING", "the run has no such replay in its directory");
  const { asSvg, environmentNames, makeEnvironment, readReplay, replayFrames } = await import(
    "../rl/index.ts"
  );
  const replay = await readReplay(found.path);
  if (!environmentNames().includes(replay.environment))
    throw new EspalierError("REPLAY_ENVIRONMENT", `the dashboard does not have ${replay.environment}`, {
      fix: `see it in a terminal: espalier replay ${join("replays", `${name}${SUFFIX}`)} --module FILE`,
    });
  const environment = makeEnvironment(replay.environment);
  try {
    const drawings = replayFrames(replay, environment);
    const stride = Math.ceil(drawings.length / MOST_FRAMES);
    const shown = drawings.filter((_, i) => i % stride === 0 || i === drawings.length - 1);
    return { fps: FPS / stride, frames: shown.map((drawing) => asSvg(drawing)) };
  } finally {
    environment.close?.();
  }
}
