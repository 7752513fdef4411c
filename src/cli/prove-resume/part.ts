import { resolve } from "node:path";
import { CheckpointManager, checkpointHook, isCheckpointHook, localStore } from "../../checkpoint/index.ts";
import {
  type BuiltRun,
  buildRun,
  type ConfigPlace,
  configAt,
  readRecord,
  storedConfig,
} from "../../config/index.ts";
import { EspalierError, isPlainObject } from "../../core/index.ts";
import { engine, setEngine, Tensor } from "../../engine/index.ts";
import { controlHook, controlJournal, Logger, metricsHook } from "../../metrics/index.ts";
import { at, never } from "../../schedule/index.ts";
import { hashState } from "../../state/index.ts";
import {
  type Task,
  Trainer,
  type TrainerHook,
  type TrainerOptions,
  type TrainingSetup,
} from "../../trainer/index.ts";
import { given } from "../options.ts";
import { importFile } from "../run-again.ts";
import { overridesOf, type TrainOptions } from "../train.ts";
import type { PartMessage, PartRequest } from "./process.ts";

const checkpointName = "prove-resume.checkpoint";

/** Does one part of a proof in this process: trains, from a checkpoint where there is one, and files the end state. */
export async function runPart(request: PartRequest, tell: (message: PartMessage) => void): Promise<void> {
  const options = await (request.isRun ? runSetup(request.file, request.engine) : loadSetup(request.file));
  const watch = watcher(tell);
  // The set-up's own would go on from what an earlier process left: the proof brings one instead.
  const hooks = (options.hooks ?? []).filter((hook) => !isCheckpointHook(hook));
  const trainer = new Trainer({
    ...options,
    config: {
      ...options.config,
      ...given({ epochs: request.epochs, deterministic: request.deterministic }),
    },
    hooks: [
      ...hooks,
      watch.hook,
      checkpoints(request.checkpoints),
      ...(request.pauseAt === undefined ? [] : [pause(request.pauseAt, tell)]),
    ],
  });
  const {
    outcome,
    counters,
    metrics,
    validation = {},
  } = await trainer.train().catch(async (error) => {
    throw (await twoCopies(options.task.components, error)) ?? error;
  });
  const hashes: Record<string, string> = {};
  for (const [name, component] of Object.entries(trainer.components))
    hashes[name] = await hashState(await component.getState());
  // A process that had no batch left to train has seen none.
  if (watch.trained())
    hashes["last metrics"] = await hashState({ metrics: { ...metrics }, validation: { ...validation } });
  const manager = new CheckpointManager({ store: localStore(request.endState), run: "prove-resume" });
  const { path } = await manager.save(trainer.components, { counters, metrics });
  await manager.close();
  tell({
    kind: "done",
    engine: engine().name,
    course: { batches: counters.batches, epochStarts: watch.epochStarts },
    resumedAt: watch.resumedAt(),
    endState: path,
    hashes,
    outcome,
  });
}

/** Notes where the run begins and where its epochs do. */
function watcher(tell: (message: PartMessage) => void) {
  const epochStarts: number[] = [];
  let resumedAt = 0;
  let trained = false;
  const hook: TrainerHook = {
    name: "prove-resume.watch",
    after: [`${checkpointName}.start`], // It restores there.
    onTrainingStart: ({ counters: { batches } }) => {
      resumedAt = batches;
      tell({ kind: "begun", batches });
    },
    // Of all that tell of batches this one does not keep them from being fused.
    onBatchesEnd: () => {
      if (!trained) tell({ kind: "trained" });
      trained = true;
    },
    onEpochStart: ({ counters }) => void epochStarts.push(counters.batches),
  };
  return { hook, epochStarts, resumedAt: () => resumedAt, trained: () => trained };
}

const checkpoints = ({ directory, at: batches, keep }: PartRequest["checkpoints"]): TrainerHook =>
  checkpointHook({
    name: checkpointName,
    directory,
    schedule: batches.length > 0 ? at({ batches: [...batches] }) : never(),
    onStart: "resume",
    ...(keep !== undefined && { keep: { last: keep } }),
  });

/** Stands still after a batch and its hooks, to be killed there by the process that started this one. */
function pause(pauseAt: number, tell: (message: PartMessage) => void): TrainerHook {
  return {
    name: "prove-resume.pause",
    after: [checkpointName],
    schedule: at({ batches: pauseAt }),
    onBatchEnd: ({ afterEvent }) =>
      afterEvent(() => {
        tell({ kind: "paused" });
        // Writes under way go on meanwhile; the timer keeps the process alive.
        return new Promise<void>(() => void setInterval(() => undefined, 1000));
      }),
  };
}

/** The training set-up that a module exports as `setup`, or that of a run, with the run as it was built. */
export async function setupAt(
  place: ConfigPlace,
  options: Pick<TrainOptions, "set" | "engine">,
): Promise<{ readonly setup: TrainerOptions; readonly built?: BuiltRun }> {
  const { file, base } = place;
  if (/\.(ya?ml|json)$/i.test(file) || (await importFile(file, "setup")).setup === undefined) {
    const built = await buildRun(await configAt(place, overridesOf(options)), base);
    return { setup: built.trainer, built };
  }
  if (options.set.length > 0)
    throw new EspalierError("OPTION_INVALID", "--set changes configurations, and this is a set-up", {
      fix: `change ${file} itself, or write it as a run: export default runConfig({ ... })`,
    });
  if (options.engine) setEngine(options.engine);
  return { setup: await loadSetup(file) };
}

/** Imports a file and makes the training set-up that it exports: `setup`, or its default export. */
export async function loadSetup(file: string): Promise<TrainerOptions> {
  const exports = await importFile(file, "setup");
  const setup = exports.setup ?? exports.default;
  if (typeof setup !== "function")
    throw invalid(
      setup === undefined
        ? `${file} exports no "setup" (it exports ${Object.keys(exports).join(", ") || "nothing"})`
        : `the export "setup" of ${file} is not a function`,
    );
  const options: unknown = await (setup as TrainingSetup)();
  if (typeof options !== "object" || options === null || !("task" in options))
    throw invalid(`the set-up of ${file} gives no task`);
  return options as TrainerOptions;
}

/**
 * The set-up of a run, by the configuration of its directory: what it was told while it trained is done again at the
 * same batches. Its metrics are gathered and go nowhere.
 */
async function runSetup(directory: string, engine: string | undefined): Promise<TrainerOptions> {
  const record = readRecord(directory);
  const source = await storedConfig(directory, record, engine === undefined ? [] : [`engine=${engine}`]);
  const { trainer, metrics } = await buildRun(source, resolve(directory, record.base), resolve(directory));
  return {
    ...trainer,
    hooks: [
      ...(trainer.hooks ?? []),
      metricsHook({ ...metrics, heartbeat: false, logger: new Logger({ sinks: [] }) }),
      controlHook({ replay: controlJournal(directory) }),
    ],
  };
}

const invalid = (what: string): EspalierError =>
  new EspalierError("SETUP_INVALID", what, {
    fix: "write: export const setup: TrainingSetup = () => ({ task, config: { epochs: 6 }, hooks })",
  });

/**
 * Two copies of the package in one process do not know each other's tensors, which comes to light in errors that
 * name neither. Gives the error to throw instead where a task's states hold such tensors.
 */
export async function twoCopies(
  components: Task["components"] | undefined,
  cause: unknown,
): Promise<EspalierError | undefined> {
  // One that is closed by now throws at once.
  for (const component of Object.values(components ?? {}))
    if (hasForeignTensor(await (async () => component.getState())().catch(() => null)))
      return new EspalierError(
        "ESPALIER_TWICE",
        "the set-up's tensors come from another copy of espalier than this command",
        {
          fix: 'call the espalier that is installed beside the file; a TypeScript file needs "type": "module" in its package.json, or the name ending .mts',
          cause,
        },
      );
  return undefined;
}

function hasForeignTensor(state: unknown): boolean {
  if (state instanceof Tensor || typeof state !== "object" || state === null) return false;
  if (Array.isArray(state)) return state.some(hasForeignTensor);
  if (isPlainObject(state)) return Object.values(state).some(hasForeignTensor);
  return state.constructor?.name === "Tensor";
}
