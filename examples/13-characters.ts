// A small language model of characters, and text from it. New ideas: a tokenizer, random windows of a long text, a
// transformer, perplexity, and `generate`.
import assert from "node:assert/strict";
import { nn, warmup } from "espalier";
import { characterTokenizer, tokenWindows, toyLanguage } from "espalier/data";
import { generate } from "espalier/language";
import { perplexity, supervisedTrainer } from "espalier/supervised";

const text = toyLanguage({ characters: 60_000, seed: 1 });
const tokenizer = characterTokenizer(text);
const tokens = tokenizer.encode(text);
const held = tokens.length - 4000;

const model = nn.transformer({
  vocabulary: tokenizer.vocabulary,
  width: 32,
  layers: 2,
  heads: 2,
  context: 48,
});
const trainer = supervisedTrainer({
  model,
  taskSpec: { modality: "text" },
  metrics: { perplexity: perplexity() },
  trainingConfig: { epochs: 4, batchSize: 16, learningRate: warmup({ updates: 50 }, 3e-3) },
});
const { validation } = await trainer.train({
  trainData: tokenWindows(tokens.subarray(0, held), { window: 48 }),
  valData: tokenWindows(tokens.subarray(held), { window: 48, order: "sequential" }),
});
console.log(`perplexity ${validation?.perplexity?.toFixed(2)} on a text it has not seen`);
assert.ok((validation?.perplexity ?? 99) < 3, "it has learned to spell");

const prompts = ["the ", "every ", "no "];
const texts = await generate(model, trainer.task.params, prompts, {
  length: 40,
  temperature: 0.7,
  tokenizer,
});
const words = new Set(text.split(/[^a-z]+/));
const written = texts.map((more, i) => `${prompts[i]}${more.text}`);
for (const line of written) console.log(line.replaceAll("\n", " / "));
// The last word of each may be cut.
const made = written.flatMap((line) => line.split(/[^a-z]+/).slice(0, -1));
const known = made.filter((word) => words.has(word)).length / made.length;
assert.ok(known > 0.8, "its words are words");
