// A conv net for a folder of images. New ideas: `imageFolder`, whose classes are the names of its folders; a `map` with
// random numbers of each example's own; metrics over the whole set, and a table of what was mistaken for what.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nn } from "espalier";
import { type ExampleContext, glyphs, type ImageExample, imageFolder } from "espalier/data";
import { accuracy, confusionMatrix, f1, supervisedTrainer } from "espalier/supervised";
import { encode } from "fast-png";

/** Digits that are made up, as files: digits/7/17.png. */
export async function writeDigits(directory = join(tmpdir(), "espalier-digits")): Promise<string> {
  let number = 0;
  for await (const { x, y } of glyphs({ count: 1200, seed: 1 })) {
    const folder = join(directory, String(y.data[0]));
    mkdirSync(folder, { recursive: true });
    const data = Uint8Array.from(x.data, (value) => Math.min(255, Math.max(0, Math.round(255 * value))));
    writeFileSync(join(folder, `${number++}.png`), encode({ width: 12, height: 12, channels: 1, data }));
  }
  return directory;
}

/** Brighter or darker, each time anew. */
export const vary = ({ x, y }: ImageExample, { random }: ExampleContext): ImageExample => {
  const light = 0.8 + 0.4 * random.uniform();
  return { x: { ...x, data: x.data.map((value) => value * light) }, y };
};

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const PROMISED = 0.9;
  const directory = mkdtempSync(join(tmpdir(), "espalier-images-"));
  try {
    const digits = imageFolder(await writeDigits(join(directory, "digits")), { channels: 1 });
    const { train, validation } = digits.split(
      { train: 0.8, validation: 0.2 },
      { seed: 1, stratify: digits.labels },
    );
    const trainer = supervisedTrainer({
      model: nn.cnn({ channels: [8, 16], pool: 2, dense: [32], out: digits.classes.length }),
      taskSpec: { modality: "vision" },
      metrics: { accuracy, f1: f1(), confusion: confusionMatrix({ names: digits.classes }) },
      trainingConfig: { epochs: 12, batchSize: 32, learningRate: 3e-3 },
    });
    const { validation: measured } = await trainer.train({ trainData: train.map(vary), valData: validation });
    console.log(`accuracy ${measured?.accuracy?.toFixed(3)}, F1 ${measured?.f1?.toFixed(3)}`);
    assert.ok((measured?.accuracy ?? 0) > PROMISED, "it reads the digits");
  } finally {
    rmSync(directory, { recursive: true });
  }
}
