import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import {
  at,
  checkpointHook,
  type EngineName,
  hashState,
  resumeTrainer,
  type StateTree,
  setEngine,
  Trainer,
  type TrainerHook,
} from "espalier";
import { flattenState } from "espalier/checkpoint";
import type { RecordedRun } from "./runs.ts";

/** Of each component a hash of its bits and one of its layout (names, types and shapes), which no machine changes. */
export interface EndState {
  readonly bits: Readonly<Record<string, string>>;
  readonly layout: Readonly<Record<string, string>>;
}

/** Trains a run to its end; from a packed checkpoint where one is given. */
export async function endStateOf(
  run: RecordedRun,
  engine: EngineName,
  checkpoint?: Buffer,
): Promise<EndState> {
  const trainer = trainerOf(run, engine, []);
  if (checkpoint)
    await inTemporary(async (directory) => {
      const path = unpack(checkpoint, directory);
      await resumeTrainer(trainer, path, { allow: ["computedBy"], warn: () => undefined });
    });
  return trained(trainer);
}

/** Trains a run to its end and takes a checkpoint on the way, which it gives packed into one file. */
export async function checkpointOf(run: RecordedRun, engine: EngineName): Promise<[EndState, Buffer]> {
  return inTemporary(async (directory) => {
    const hook = checkpointHook({ directory, schedule: at({ updates: run.breakAt }) });
    const end = await trained(trainerOf(run, engine, [hook]));
    const [name] = readdirSync(directory).filter((entry) => Number(entry.split("-").at(-1)) === run.breakAt);
    if (!name) throw new Error(`${run.name}: no checkpoint after ${run.breakAt} updates`);
    return [end, pack(join(directory, name))];
  });
}

function trainerOf(run: RecordedRun, engine: EngineName, hooks: readonly TrainerHook[]): Trainer {
  setEngine(engine);
  const options = run.setup(engine);
  return new Trainer({ ...options, hooks: [...(options.hooks ?? []), ...hooks], warn: () => undefined });
}

/** Components but for those of time, which no two runs share, and the last metrics. */
async function trained(trainer: Trainer): Promise<EndState> {
  const { metrics, validation = {} } = await trainer.train();
  const states: [string, StateTree][] = [["last metrics", { metrics, validation } as StateTree]];
  for (const [name, component] of Object.entries(trainer.components))
    if (name !== "time" && !name.endsWith(".time")) states.push([name, await component.getState()]);
  const bits: Record<string, string> = {};
  const layout: Record<string, string> = {};
  for (const [name, state] of states.sort(([a], [b]) => (a < b ? -1 : 1))) {
    bits[name] = (await hashState(state)).slice(0, 32);
    layout[name] = (await hashState(await layoutOf(state))).slice(0, 16);
  }
  return { bits, layout };
}

/** The paths of a state's leaves with their kinds: element types and shapes of arrays, string or number otherwise. */
const layoutOf = async (state: StateTree): Promise<StateTree> =>
  (await flattenState(state)).map(({ path, kind }) => `${path}: ${kind}`);

/** The files of a checkpoint as one: names and bytes in JSON, compressed. */
function pack(path: string): Buffer {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(path, name)).isFile())
    .sort()
    .map((name) => [name, readFileSync(join(path, name)).toString("base64")]);
  return gzipSync(JSON.stringify({ name: basename(path), files: Object.fromEntries(files) }), { level: 9 });
}

function unpack(packed: Buffer, directory: string): string {
  const { name, files } = JSON.parse(gunzipSync(packed).toString()) as {
    readonly name: string;
    readonly files: Readonly<Record<string, string>>;
  };
  for (const [file, bytes] of Object.entries(files)) {
    const path = join(directory, name, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.from(bytes, "base64"));
  }
  return join(directory, name);
}

async function inTemporary<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "espalier-recorded-"));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
