import { characterTokenizer } from "../../src/data/index.ts";
import {
  every,
  linear,
  never,
  nn,
  optim,
  periodicHook,
  Trainer,
  type TrainerEvents,
  type TrainerHook,
} from "../../src/index.ts";
import { grpoLoss, imitationLoss, rlooLoss, textLessons } from "../../src/language/index.ts";
import { languageTask, type RolloutTask, textRollouts } from "../../src/rollout/index.ts";
import { noCounters } from "../../src/schedule/index.ts";
import type { CountedFigure } from "../harness/figure.ts";

const lesson = textLessons.add({ digits: 2 });
const tokenizer = characterTokenizer("\n0123456789+=");
const model = nn.transformer({
  ...{ vocabulary: tokenizer.vocabulary, width: 128, layers: 4, heads: 4, context: 12 },
});
const problems = { model, tokenizer, lessons: [lesson], length: 5, engine: "xla" } as const;
const worker = { defaultHooks: false };
const epochs = { warm: 400, grpo: 300, rloo: 300 };
const losses = {
  grpo: () => grpoLoss(),
  rloo: () => rlooLoss({ lengthNormalization: "sequence", clip: 0.2 }),
};

/** Percent of 512 sums that training never sees, each answered once, the likeliest way. */
async function passed(task: RolloutTask): Promise<number> {
  const { signal } = new AbortController();
  const scores = await task.validate?.({ counters: noCounters, signal });
  return 100 * (scores?.[`${lesson.name}.positive`] ?? 0);
}

const train = async (
  task: RolloutTask,
  epochs: number,
  hooks: readonly TrainerHook[] = [],
): Promise<number> => {
  const start = performance.now();
  await new Trainer({
    task,
    hooks,
    config: { epochs, seed: 1, handleSignals: false, validate: never() },
  }).train();
  return (performance.now() - start) / 1000;
};

/** What a run gave: percent before and after, seconds of reinforcement learning. */
interface Learned {
  readonly before: number;
  readonly after: number;
  readonly seconds: number;
}
const known = new Map<string, Promise<Learned>>();
const learned = (by: keyof typeof losses): Promise<Learned> => {
  const found = known.get(by) ?? learn(by);
  known.set(by, found);
  return found;
};

async function learn(by: keyof typeof losses): Promise<Learned> {
  const warm = languageTask({
    ...{
      model,
      worker,
      losses: [imitationLoss()],
      keepUniform: true,
      batchSize: 256,
      examples: 512,
      engine: "xla",
    },
    generator: textRollouts({ ...problems, answers: true, prompts: 256 }),
    optimizer: optim.adam({ learningRate: 1e-3 }),
  });
  // It ends when some sums are right: how long that takes depends on what is drawn.
  const enough = periodicHook<TrainerEvents>({
    name: "enough",
    schedule: every({ epochs: 5 }),
    run: async ({ stop }) => {
      if ((await passed(warm)) > 20) stop("some are right");
    },
  });
  await train(warm, epochs.warm, [enough]);
  const before = await passed(warm);
  const task = languageTask({
    ...{
      model,
      worker,
      params: warm.params,
      losses: [losses[by]()],
      batchSize: 64,
      examples: 512,
      engine: "xla",
    },
    generator: textRollouts({ ...problems, prompts: 64, group: 8 }),
    optimizer: optim.adam(),
    learningRate: linear({ from: 3e-4, to: 1e-4, over: { updates: epochs[by] } }),
  });
  const seconds = await train(task, epochs[by]);
  return { before, after: await passed(task), seconds };
}

const figure = (
  by: keyof typeof losses,
  name: string,
  unit: "%" | "s",
  of: (found: Learned) => number,
  bar: CountedFigure["bars"][number],
): CountedFigure => ({
  kind: "counted",
  name: `two-digit sums by ${by.toUpperCase()} (transformer of 4 layers, width 128): ${name}`,
  engine: "xla",
  unit,
  ours: async () => of(await learned(by)),
  bars: [bar],
});

/** A language model that only hears whether its sums are right. */
export const additionFigures: readonly CountedFigure[] = (["grpo", "rloo"] as const).flatMap((by) => [
  figure(by, "right after the warm start", "%", ({ before }) => before, { kind: "absolute", below: 40 }),
  figure(by, "right at the end", "%", ({ after }) => after, { kind: "absolute", above: 90 }),
  figure(by, "time", "s", ({ seconds }) => seconds, { kind: "absolute", below: 1200 }),
]);
