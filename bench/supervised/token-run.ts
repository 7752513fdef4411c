import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { tokenFile } from "../../src/data/index.ts";
import { every, nn } from "../../src/index.ts";
import { supervisedTrainer, type TrainInputs } from "../../src/supervised/index.ts";
import type { TrainerHook } from "../../src/trainer/index.ts";
import { freshFolder } from "../harness/scratch.ts";

/** A small language model: updates that are timed come after those in which the programs are compiled. */
export const run = { window: 64, batch: 32, vocabulary: 256, first: 20, updates: 100, inMemory: 8192 };

/** Trains and gives the seconds of the timed updates. */
export async function trainOnce(trainData: TrainInputs["trainData"]): Promise<number> {
  const { window, batch, vocabulary, first, updates } = run;
  const times: number[] = [];
  const watch: TrainerHook = {
    name: "watch",
    schedule: every({ updates: first }),
    onBatchEnd: async ({ state }) => {
      const { updates: done } = state.counters;
      if (done !== first && done !== first + updates) return;
      await state.metrics();
      times.push(performance.now());
    },
  };
  const trainer = supervisedTrainer({
    model: nn.transformer({ vocabulary, width: 64, layers: 2, heads: 4, context: window }),
    trainingConfig: { epochs: 1000, batchSize: batch, maxUpdates: first + updates, handleSignals: false },
    loss: nn.crossEntropy,
    hooks: [watch],
    engine: "xla",
  });
  await trainer.train({ trainData, progress: false });
  return ((times[1] as number) - (times[0] as number)) / 1000;
}

const token = (i: number): number => (i * 7 + Math.floor(i / 97) * 13) % run.vocabulary;

/** Windows in memory, which go to the device as a whole. */
export function windowsInMemory(): TrainInputs["trainData"] {
  const { window, inMemory } = run;
  const shape = [inMemory, window];
  const tokens = (shift: number) =>
    Int32Array.from({ length: inMemory * window }, (_, i) => token(i + shift));
  return { x: { data: tokens(0), shape }, y: { data: tokens(1), shape } };
}

/** Windows of a file of so many bytes, written here. */
export function windowsOfFile(bytes: number): TrainInputs["trainData"] {
  const path = join(freshFolder("tokens"), "tokens.u16");
  const block = Uint16Array.from({ length: 2 ** 24 }, (_, i) => token(i));
  const file = openSync(path, "w");
  for (let done = 0; done < bytes; done += block.byteLength)
    writeSync(file, block, 0, Math.min(block.byteLength, bytes - done));
  closeSync(file);
  return tokenFile(path, { window: run.window });
}
