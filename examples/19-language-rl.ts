// A language model learns to write words backwards by reinforcement learning. New ideas: problems whose answers can be
// checked, a worker that makes rollouts, a warm start from given answers, and GRPO.
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { every, never, nn, optim, Trainer, type TrainerHook } from "espalier";
import { characterTokenizer } from "espalier/data";
import { drawProblems, generate, grpoLoss, imitationLoss, textLessons } from "espalier/language";
import { languageTask, textRollouts } from "espalier/rollout";

const tokenizer = characterTokenizer(textLessons.alphabet);
const { vocabulary } = tokenizer;
const model = nn.transformer({ vocabulary, width: 64, layers: 2, heads: 4, context: 10 });
const lesson = textLessons.reverse({ length: 3, letters: "abcdef" }); // "r:fab=" is followed by "baf"
const problems = { model, tokenizer, lessons: [lesson], length: 4 };

// Some words with their answers: the model learns what an answer looks like, and gets some of them right.
async function trainWarm() {
  const task = languageTask({
    model,
    generator: textRollouts({ ...problems, answers: true, prompts: 64 }),
    losses: [imitationLoss()],
    optimizer: optim.adam({ learningRate: 2e-3 }),
    keepUniform: true,
    batchSize: 64,
    examples: 64,
  });
  const trainer = new Trainer({ task, config: { epochs: 12, seed: 1, validate: never() } });
  await trainer.train();
  return { params: task.params, trainer };
}
let warm: ReturnType<typeof trainWarm> | undefined;
const warmOnce = () => (warm ??= trainWarm());

/** Begins with that model. It is trained when a run begins, and not for a plan of it, nor when it is resumed. */
export const warmStart: TrainerHook = {
  name: "warmStart",
  async onTrainingStart({ counters, components }) {
    if (counters.updates === 0) await components.params?.setState((await warmOnce()).params);
  },
};

if (realpathSync(process.argv[1] ?? ".") === import.meta.filename) {
  const { trainer: warmTrainer } = await warmOnce();
  // From here on it only hears whether a word is right.
  const task = languageTask({
    model,
    generator: textRollouts({ ...problems, prompts: 32, group: 8 }),
    losses: [grpoLoss()],
    optimizer: optim.adam({ learningRate: 1e-3 }),
    batchSize: 16,
    updates: 2,
    examples: 64,
  });
  const config = { epochs: 80, seed: 1, validate: every({ epochs: 20 }) };
  const trainer = new Trainer({ task, config, hooks: [warmStart] });
  // Words that training never sees.
  const before = (await warmTrainer.validate())[`${lesson.name}.positive`] as number;
  await trainer.train();
  const after = (await trainer.validate())[`${lesson.name}.positive`] as number;
  console.log(
    `right: ${(100 * before).toFixed(0)} % after the warm start, ${(100 * after).toFixed(0)} % now`,
  );

  const [{ prompt }] = (await drawProblems(lesson, { count: 1, key: 9, part: "held-out" })) as [
    { prompt: string },
  ];
  const { text } = await generate(model, task.params, prompt, {
    length: 4,
    temperature: 0,
    stop: "\n",
    tokenizer,
  });
  console.log(`${prompt}${text}`);
  assert.ok(before < 0.7 && after > 0.85, "it writes backwards");
}
