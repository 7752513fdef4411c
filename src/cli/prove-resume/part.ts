import { CheckpointManager, checkpointHook, isCheckpointHook, localStore } from "../../checkpoint/index.ts";
import { engine } from "../../engine/index.ts";
import { at, never } from "../../schedule/index.ts";
import { hashState, type StateTree } from "../../state/index.ts";
import { Trainer, type TrainerHook } from "../../trainer/index.ts";
import { loadSetup } from "./load-setup.ts";
import type { PartMessage, PartRequest } from "./messages.ts";
import { twoCopies } from "./two-copies.ts";

const checkpointName = "prove-resume.checkpoint";

/** Does one part of a proof in this process: trains, from a checkpoint where there is one, and files the end state. */
export async function runPart(request: PartRequest, tell: (message: PartMessage) => void): Promise<void> {
  const options = await loadSetup(request.file);
  const watch = watcher(tell);
  // The set-up's own would go on from what an earlier process left: the proof brings one instead.
  const given = (options.hooks ?? []).filter((hook) => !isCheckpointHook(hook));
  const trainer = new Trainer({
    ...options,
    config: {
      ...options.config,
      ...(request.epochs !== undefined && { epochs: request.epochs }),
      ...(request.deterministic !== undefined && { deterministic: request.deterministic }),
    },
    hooks: [
      ...given,
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
    throw (await twoCopies(options.task, error)) ?? error;
  });
  const hashes: Record<string, string> = {};
  for (const [name, component] of Object.entries(trainer.components))
    hashes[name] = await hashState(await component.getState());
  // A process that had no batch left to train has seen none.
  if (watch.trained())
    hashes["last metrics"] = await hashState({ metrics, validation } as unknown as StateTree);
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

/** Stands still after a batch, when all is done that belongs to it: whoever started this process kills it there. */
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
