// Images and text into one model: a picture of a digit and a question about it, yes or no. New ideas: inputs as a tree
// of arrays, and a model of one's own made of others.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { nn, np, spec, type Value } from "espalier";
import { characterTokenizer, glyphs } from "espalier/data";
import { accuracy, supervisedTrainer } from "espalier/supervised";

const questions = {
  "is it even?": (digit: number) => digit % 2 === 0,
  "is it big?": (digit: number) => digit > 4,
  "is it zero?": (digit: number) => digit === 0,
};
const texts = Object.keys(questions) as (keyof typeof questions)[];
const tokenizer = characterTokenizer(texts.join(""));
const longest = Math.max(...texts.map((text) => text.length));

/** Each image with one of the questions, and the answer. */
export const asked = (seed: number, count: number) =>
  glyphs({ count, seed }).map(({ x, y }, { index }) => {
    const text = texts[Math.floor(index / 10) % texts.length] as keyof typeof questions;
    const answer = questions[text](y.data[0] as number);
    return {
      x: { image: x, text: tokenizer.encode(text.padEnd(longest, "?")) },
      y: { data: Int32Array.of(answer ? 1 : 0), shape: [] },
    };
  });

type Inputs = { readonly image: Value; readonly text: Value };
const parts = {
  image: nn.cnn({ channels: [8, 16], pool: 2, dense: [32] }),
  text: nn.sequential([nn.embedding(tokenizer.vocabulary, 8), nn.flatten(), nn.dense(16), nn.relu]),
  both: nn.mlp({ hidden: [64], out: 2 }),
};

/** Features of both, side by side. */
export const model: nn.Model<Inputs> = {
  kind: "imageAndText",
  layers: parts,
  init: (key, { image, text }, where) => ({
    image: parts.image.init(nn.childKey(key, "image"), image, where),
    text: parts.text.init(nn.childKey(key, "text"), text, where),
    both: parts.both.init(nn.childKey(key, "both"), spec([1, 32 + 16]), where),
  }),
  apply: (params, { image, text }, options) => {
    const seen = nn.inLayer("image", () =>
      parts.image.apply(nn.childParams(params, "image"), image, options),
    );
    const read = nn.inLayer("text", () => parts.text.apply(nn.childParams(params, "text"), text, options));
    const both = np.concatenate([nn.relu(seen), read], { axis: 1 });
    return nn.inLayer("both", () => parts.both.apply(nn.childParams(params, "both"), both, options));
  },
};

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const trainer = supervisedTrainer({
    model,
    taskSpec: { modality: "multimodal", strategy: "classification" },
    metrics: { accuracy },
    trainingConfig: { epochs: 25, batchSize: 32, learningRate: 3e-3 },
  });
  const { validation } = await trainer.train({
    trainData: await asked(1, 1500).toArrays(),
    valData: await asked(2, 300).toArrays(),
  });
  console.log(`${(100 * (validation?.accuracy ?? 0)).toFixed(1)} % of questions about new images answered`);
  assert.ok((validation?.accuracy ?? 0) > 0.85, "it looks and reads");
}
