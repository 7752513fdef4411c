// A training set-up of language-model reinforcement learning: `espalier prove-resume examples/setups/addition.ts`.
// Rollouts are made by a worker in this process, with a curriculum, evaluations on the way, a reference model, and
// groups that are learned from twice.
import { nn, optim, type TrainingSetup } from "espalier";
import { characterTokenizer } from "espalier/data";
import { grpoLoss, referenceKlLoss, textLessons, tokenEntropyLoss } from "espalier/language";
import { lessonCurriculum } from "espalier/rl";
import { languageTask, textRollouts } from "espalier/rollout";

export const setup: TrainingSetup = () => {
  const tokenizer = characterTokenizer(textLessons.alphabet);
  const { vocabulary } = tokenizer;
  const model = nn.transformer({ vocabulary, width: 16, layers: 1, heads: 2, context: 10 });
  const lessons = [textLessons.copy({ length: 1 }), textLessons.add({ digits: 1 })];
  const names = lessons.map(({ name }) => name);
  return {
    task: languageTask({
      model,
      generator: textRollouts({ model, tokenizer, lessons, length: 3, prompts: 8, group: 4 }),
      worker: {
        curriculum: lessonCurriculum({
          lessons: names.map((name, i) => ({
            name,
            ...(i > 0 && { after: names.slice(0, i), threshold: 0.1 }),
          })),
        }),
        microEvalFrequency: 3,
        evalFrequency: 4,
        evalExamples: 8,
      },
      losses: [grpoLoss(), referenceKlLoss({ weight: 0.02 }), tokenEntropyLoss({ weight: 0.01 })],
      optimizer: optim.adam({ learningRate: 0.01 }),
      batchSize: 4,
      updates: 3,
      maxReuse: 2,
      recency: 4,
      keepUniform: true,
    }),
    config: { epochs: 6, seed: 3, name: "addition" },
  };
};
