import { type Clock, checkNames, systemClock } from "../../../core/index.ts";
import { type SinkFiles, systemFiles } from "../files.ts";
import { filedUpTo } from "../resume.ts";
import type { Sink, SinkChoice } from "../sink.ts";
import { writeSessionEnd, writeSessionStart } from "./hparams.ts";
import { EventRuns } from "./runs.ts";

/** Options of {@link tensorBoardSink}. */
export interface TensorBoardChoice extends SinkChoice {
  /** Whether the run's settings are filed for TensorBoard's table of hyperparameters. Default true. */
  readonly hparams?: boolean;
  /** For tests: when it is. */
  readonly clock?: Clock;
  /** @internal */
  readonly files?: SinkFiles;
}

/**
 * Event files as TensorBoard reads them: numbers, histograms, texts, and the run's settings. Tags are the metrics'
 * keys. One directory is one run; several in one folder can be compared: `tensorboard --logdir runs`.
 *
 * TensorBoard keeps numbers as 32-bit floats and steps as whole numbers: other sinks are exact. What is counted on
 * another axis than `steps` appears as a run of its own, `by-<axis>`, and so do late values, under `late`: TensorBoard
 * would take them for a restart and forget what came after them. A resumed run writes a file of its own, by which
 * TensorBoard drops what the killed process had written after the checkpoint; a new run in an old directory voids all
 * that was there. Of texts, only programs that read files with the old `EventAccumulator` see those again.
 *
 * @example
 * ```ts
 * const logger = new Logger({ sinks: [tensorBoardSink("runs/mnist/tensorboard")] });
 * ```
 */
export function tensorBoardSink(directory: string, choice: TensorBoardChoice = {}): Sink {
  checkNames("tensorBoardSink", choice, Object.keys(known));
  const { hparams = true, clock = systemClock, files = systemFiles, ...general } = choice;
  let runs: EventRuns | undefined;
  return {
    name: "tensorboard",
    ...general,
    open(run) {
      runs?.close();
      runs = undefined;
      const opened = new EventRuns(files, directory, run.startedAt, filedUpTo(run));
      try {
        if (hparams)
          opened.writeMain((main) => main.addOther(run.startedAt, (out) => writeSessionStart(out, run)));
      } catch (error) {
        opened.close();
        throw error;
      }
      runs = opened;
    },
    write(records) {
      const first = records[0];
      if (!first) return;
      runs ??= new EventRuns(files, directory, first.wall, undefined);
      runs.write(records);
    },
    close(ending) {
      const wall = clock.wall();
      if (hparams && ending.outcome !== "interrupted")
        runs?.writeMain((main) => main.addOther(wall, (out) => writeSessionEnd(out, ending, wall)));
      runs?.close();
      runs = undefined;
    },
  };
}

const known: Readonly<Record<keyof TensorBoardChoice, true>> = {
  name: true,
  schedule: true,
  categories: true,
  metrics: true,
  hparams: true,
  clock: true,
  files: true,
};
