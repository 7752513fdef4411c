// A stream that is larger than memory would hold: batches are made on worker threads while the device works, and a run
// that is broken off goes on in the middle of an epoch. New ideas: `tokenFile`, `workers`, `resumeFrom`.
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashState, nn } from "espalier";
import { tokenFile } from "espalier/data";
import { supervisedTrainer } from "espalier/supervised";

/** Stands for a file of gigabytes: it is read window by window, and never whole. */
export function writeTokens(file = join(tmpdir(), "espalier-tokens.bin")): string {
  writeFileSync(
    file,
    Uint16Array.from({ length: 100_000 }, (_, i) => (i * i) % 31),
  );
  return file;
}

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const directory = mkdtempSync(join(tmpdir(), "espalier-stream-"));
  try {
    const file = writeTokens(join(directory, "tokens.bin"));
    const make = () =>
      supervisedTrainer({
        model: nn.transformer({ vocabulary: 31, width: 16, layers: 1, heads: 2, context: 32, dropout: 0.1 }),
        taskSpec: { modality: "text" },
        trainingConfig: { epochs: 2, batchSize: 64, workers: 2, seed: 1 },
      });
    const trainData = tokenFile(file, { window: 32 });

    const whole = make();
    await whole.train({ trainData });

    const first = make();
    first.registerHook({
      name: "break off",
      onBatchEnd: ({ counters, stop }) => counters.updates === 30 && stop("in the middle of an epoch"),
    });
    await first.train({ trainData });
    const second = make();
    const { counters } = await second.train({
      trainData,
      resumeFrom: await first.state(),
      resume: { allow: ["stopped"] },
    });
    console.log(`${counters.updates} updates, the first 30 of them in another run`);
    const hashes = await Promise.all(
      [whole, second].map(async (run) => hashState((await run.state()).params ?? null)),
    );
    assert.equal(hashes[0], hashes[1], "the same bits, broken off or not");
  } finally {
    rmSync(directory, { recursive: true });
  }
}
