/**
 * Reinforcement learning of language models:
 *
 *     textRollouts     problems of a lesson, `group` samples of each, their rewards     -> a rollout
 *     languageTask     learns from such rollouts by losses over tokens                  (task.ts)
 *
 * Arrays of a rollout, with P prompts, G samples of each and L places:
 *
 *     tokens [P, G, L]     the prompt, then what the model said, then zeros
 *     mask [P, G, L]       1 where the model chose the token; 0 in prompts, answers of tools and after the end
 *     logProbs [P, G, L]   of those tokens, by the weights that chose them
 *     reward [P, G]
 */
import {
  countInWords,
  EspalierError,
  errorText,
  hasMethods,
  isWorthSaying,
  type Options,
  option,
  required,
  resolveOptions,
  toStandardError,
} from "../core/index.ts";
import type { Tokenizer } from "../data/index.ts";
import { hostRandom, spec, type Value } from "../engine/index.ts";
import {
  type Conversation,
  converse,
  drawProblems,
  encodeKnown,
  encodeProblems,
  milliseconds,
  passAtK,
  scoreAll,
  type TextBatch,
  type TextLesson,
  type TextOutputs,
  type TextProblem,
  type TextReward,
  type Tool,
  tokenOutputs,
} from "../language/index.ts";
import type { Transformer } from "../nn/index.ts";
import { checkedLessons } from "../rl/index.ts";
import type { Setting } from "../trainer/index.ts";
import {
  checkLesson,
  type GeneratorRequest,
  type NamedArrays,
  type RolloutGenerator,
  scoresOf,
} from "./rollout.ts";
import { type RolloutTask, type RolloutTaskOptions, rolloutTask, rolloutTaskRows } from "./task.ts";
import { WeightsReceiver } from "./weights.ts";

const kind = "textRollouts";
const table = {
  model: required(option.object<Transformer>("a model of nn.transformer", ["applyCached"], {})),
  tokenizer: required(
    option.object<Tokenizer>("a tokenizer: characterTokenizer(text)", ["encode", "decode"], {}),
  ),
  lessons: required(
    option.made<readonly TextLesson[]>(
      "a list of lessons: [textLessons.add()]",
      (value) =>
        Array.isArray(value) && value.length > 0 && value.every((one) => hasMethods(one, ["problem"])),
      {},
    ),
  ),
  /** Milliseconds for a lesson's problem, where it is asynchronous. Default: 10,000. */
  lessonTimeout: option.number({ ...milliseconds, default: 10_000 }),
  /**
   * A lesson that gives no problems, or wrong ones: ends the run, or is counted, and another is drawn in its place.
   * Default: "error".
   */
  onLessonFailure: option.oneOf(["error", "skip"], { default: "error" }),
  /** Problems of a rollout. Default: 8. */
  prompts: option.integer({ min: 1, default: 8 }),
  /** Samples of each problem. Default: 8. */
  group: option.integer({ min: 1, default: 8 }),
  /** New tokens of a sample, at most. */
  length: option.integer({ min: 1, required: true }),
  /** Tokens of a prompt, at most. Default: what the model's context leaves. */
  promptLength: option.integer({ min: 1 }),
  /** Divides the logits. Default: 1. */
  temperature: option.number({ above: 0, default: 1 }),
  /** Ends an answer; part of what is learned. Default: a line feed. */
  stop: option.text({ default: "\n" }),
  /** Judges answers where a lesson does not. Default: 1 where the text is the problem's answer, else 0. */
  reward: option.made<TextReward>("a function of a sample, or { module, name }", Boolean, {}),
  /** Milliseconds for the reward of a sample. Default: 30,000. */
  rewardTimeout: option.number({ ...milliseconds, default: 30_000 }),
  /** What becomes of a sample whose reward failed. Default: "error". */
  onRewardFailure: option.oneOf(["error", "zero", "drop"], { default: "error" }),
  /** A function that the model can call in the middle of an answer. */
  tool: option.object<Tool>("a tool: { stop, call }", ["call"], {}),
  /** Calls of the tool in an answer, at most. Default: 4. */
  turns: option.integer({ min: 1, default: 4 }),
  /**
   * Takes the problems' own answers instead of the model's: a supervised warm start by `imitationLoss`; or pairs of
   * `answer` and `rejected`, where all problems have both, for `dpoLoss`. Default: false.
   */
  answers: option.flag({ default: false }),
  /** The share of problems that only evaluations see. Default: 0.1. */
  heldOut: option.number({ min: 0, below: 1, default: 0.1 }),
  /**
   * Evaluations estimate pass@k for each of these, from samples at `temperature`. Problems of which fewer than k samples
   * were judged are left out. Default: none.
   */
  passAt: option.made<readonly number[], { readonly default: readonly number[] }>(
    "a list of whole numbers from 1 on: [1, 4]",
    (value) => Array.isArray(value) && value.every((k) => Number.isSafeInteger(k) && k > 0),
    { default: [] },
  ),
  engine: rolloutTaskRows.engine,
};

/**
 * Makes rollouts of text: problems of a lesson, `group` answers to each by the model, and their rewards.
 *
 * @example
 * ```ts
 * const rollouts = textRollouts({ model, tokenizer, lessons: [textLessons.add({ digits: 2 })], length: 8 });
 * const task = languageTask({ model, generator: rollouts, losses: [grpoLoss()], optimizer, batchSize: 8 });
 * ```
 */
export function textRollouts(options: Options<typeof table>): RolloutGenerator {
  const given = resolveOptions(kind, options, table);
  const { model, tokenizer, length, temperature, stop, tool, turns, heldOut, engine } = given;
  const lessons = checkedLessons(
    kind,
    given.lessons.map(({ name }) => name),
  );
  const promptLength = given.promptLength ?? model.context - length;
  if (promptLength < 1 || promptLength + length > model.context)
    throw new EspalierError(
      "CONTEXT_EXCEEDED",
      `${kind}: prompts of ${promptLength} tokens and ${length} more do not fit into the model's context of ${model.context}`,
      { fix: "give a smaller length or promptLength, or the model a longer context" },
    );
  encodeKnown(kind, stop, tokenizer, model.vocabulary);
  const where = { ...(engine !== undefined && { engine }) };
  const receiver = new WeightsReceiver(kind, model.init(0, spec([1, 1], "i32"), where));
  const failed = { reward: 0, tool: 0, lesson: 0 };

  /** Warns of the first failure of a rollout or an evaluation that it does not end. */
  function tell(
    what: keyof typeof failed,
    failure: EspalierError | undefined,
    warn: GeneratorRequest["warn"] = toStandardError,
  ): void {
    if (!failure) return;
    const times = ++failed[what];
    if (isWorthSaying(times)) warn(`${kind}: ${errorText(failure)} (${countInWords(times)})`);
  }

  function lessonOf({ lesson }: GeneratorRequest): TextLesson {
    checkLesson(lesson, lessons);
    return given.lessons[lessons.indexOf(lesson)] as TextLesson;
  }

  function draw(lesson: TextLesson, count: number, part: "train" | "held-out", request: GeneratorRequest) {
    const key = hostRandom.hostFoldIn(request.key, 0);
    const { signal } = request;
    return drawProblems(lesson, { count, part, heldOut, key, timeout: given.lessonTimeout, signal });
  }

  function encode(lesson: TextLesson, problems: readonly TextProblem[]): readonly Int32Array[] {
    const prompts = encodeProblems(lesson, problems, tokenizer, model.vocabulary);
    const longest = Math.max(...prompts.map(({ length }) => length));
    if (longest <= promptLength) return prompts;
    throw new EspalierError(
      "CONTEXT_EXCEEDED",
      `${kind}: a prompt of lesson "${lesson.name}" has ${longest} tokens, and promptLength is ${promptLength}`,
      { fix: "give a greater promptLength, or a lesson with shorter prompts" },
    );
  }

  /** A given answer, as if the model had written it. */
  function givenAnswer(lesson: TextLesson, answer: string | undefined): Answer {
    const tokens = answer === undefined ? new Int32Array() : tokenizer.encode(answer + stop);
    if (tokens.length > 0 && tokens.length <= length)
      return {
        tokens,
        made: new Uint8Array(tokens.length).fill(1),
        logProbs: new Float32Array(tokens.length),
        calls: 0,
        failures: 0,
      };
    throw new EspalierError(
      "LESSON_INVALID",
      answer === undefined
        ? `${kind}: a problem of lesson "${lesson.name}" has no answer to learn`
        : `${kind}: an answer of lesson "${lesson.name}" has ${tokens.length} tokens, and length is ${length}`,
      { fix: "give problems with answers that are at most as long as length, the stop included" },
    );
  }

  /** Answers of the model, by the request's random numbers of this `part`, and their rewards. */
  async function solve(
    lesson: TextLesson,
    problems: readonly TextProblem[],
    prompts: readonly Int32Array[],
    part: number,
    temperature: number,
    { key, signal, warn }: GeneratorRequest,
  ) {
    const seeds = Array.from(hostRandom.hostBits(hostRandom.hostFoldIn(key, part), problems.length));
    const about = { length, temperature, stop, tokenizer, tool, turns, seeds, problems, signal };
    const answers = await converse(model, receiver.params, prompts, about);
    const samples = answers.map(({ text, tokens }, i) => ({
      lesson: lesson.name,
      ...(problems[i] as TextProblem),
      text,
      tokens,
    }));
    const { rewardTimeout: timeout, onRewardFailure: onFailure, reward } = given;
    const scores = await scoreAll(samples, lesson.reward ?? reward, { timeout, onFailure, signal });
    tell("tool", answers.find(({ failure }) => failure)?.failure, warn);
    tell("reward", scores.failure, warn);
    return { answers, ...scores };
  }

  /** The problems' own answers, of pairs the better one first. */
  const taught = (lesson: TextLesson, problems: readonly TextProblem[], group: number) => ({
    answers: problems.map(({ answer, rejected }, i) =>
      givenAnswer(lesson, i % group === 1 ? rejected : answer),
    ),
    rewards: Float32Array.from(problems, (_, i) => 1 - (i % group)),
    dropped: new Uint8Array(problems.length),
    failures: 0,
  });

  async function rollout(request: GeneratorRequest) {
    const { prompts: count, answers: own } = given;
    const lesson = lessonOf(request);
    const drawn = await draw(lesson, count, "train", request);
    const pairs = drawn.every(({ rejected }) => rejected !== undefined);
    const group = own ? (pairs ? 2 : 1) : given.group;
    const problems = repeated(drawn, group);
    const prompts = encode(lesson, problems);
    const { answers, rewards, dropped, failures } = own
      ? taught(lesson, problems, group)
      : await solve(lesson, problems, prompts, 1, temperature, request);

    const places = promptLength + length;
    const all = count * group;
    const tokens = new Int32Array(all * places);
    const [mask, logProbs] = [new Float32Array(all * places), new Float32Array(all * places)];
    let made = 0;
    answers.forEach((answer: Answer, i) => {
      const prompt = prompts[i] as Int32Array;
      const from = i * places + prompt.length;
      tokens.set(prompt, i * places);
      tokens.set(answer.tokens, from);
      logProbs.set(answer.logProbs, from);
      made += answer.tokens.length;
      if (!dropped[i]) mask.set(answer.made, from);
    });
    // A sample that was dropped counts like the others of its group: as nothing.
    for (let i = 0; i < all; i++) if (dropped[i]) rewards[i] = meanOfOthers(rewards, dropped, i, group);
    const shape = [count, group, places];
    return {
      ...scoresOf(rewards.filter((_, i) => !dropped[i])),
      metrics: {
        length: made / all,
        "reward.failures": failures,
        ...(tool && { "tool.calls": total(answers, "calls"), "tool.failures": total(answers, "failures") }),
      },
      arrays: {
        tokens: { data: tokens, shape },
        mask: { data: mask, shape },
        logProbs: { data: logProbs, shape },
        reward: { data: rewards, shape: [count, group] },
      },
    };
  }

  /** The likeliest answers to problems that training never sees, and pass@k where it is asked for. */
  async function evaluate(request: GeneratorRequest & { readonly examples: number }) {
    const lesson = lessonOf(request);
    const part = heldOut > 0 ? "held-out" : "train";
    const problems = await draw(lesson, request.examples, part, request).catch((error: unknown) => {
      if (!skips(error, request.warn)) throw error;
    });
    if (!problems) return { ...scoresOf([]), metrics: { "lesson.failures": 1 } };
    const prompts = encode(lesson, problems);
    const found = await solve(lesson, problems, prompts, 1, 0, request);
    const scores = scoresOf(found.rewards.filter((_, i) => !found.dropped[i]));
    if (given.passAt.length === 0) return { ...scores, metrics: failuresOf(found) };
    const samples = Math.max(...given.passAt);
    const [all, begins] = [repeated(problems, samples), repeated(prompts, samples)];
    const tries = await solve(lesson, all, begins, 2, temperature, request);
    const judged = problems.map((_, i) => {
      const own = Array.from(tries.rewards.subarray(i * samples, (i + 1) * samples));
      return own.filter((_, k) => !tries.dropped[i * samples + k]);
    });
    const metrics = given.passAt.flatMap((k) => {
      const each = judged
        .filter((rewards) => rewards.length >= k)
        .map((rewards) => passAtK(rewards.length, rewards.filter((reward) => reward > 0).length, k));
      return each.length > 0 ? [[`pass@${k}`, each.reduce((a, b) => a + b, 0) / each.length] as const] : [];
    });
    return { ...scores, metrics: { ...Object.fromEntries(metrics), ...failuresOf(found, tries) } };
  }

  function skips(error: unknown, warn?: (text: string) => void): boolean {
    if (given.onLessonFailure === "error" || !(error instanceof EspalierError)) return false;
    if (!["LESSON_EMPTY", "LESSON_FAILED", "LESSON_INVALID"].includes(error.code)) return false;
    tell("lesson", error, warn);
    return true;
  }

  const { prompts, group, answers } = given;
  return {
    lessons,
    settings: {
      lessons,
      prompts,
      group,
      length,
      temperature,
      stop,
      heldOut,
      answers,
      ...(tool && { turns }),
    },
    setParams: (weights) => void receiver.take(weights),
    rollout,
    evaluate,
    skips,
  };
}

type Answer = Pick<Conversation, "tokens" | "made" | "logProbs" | "calls" | "failures">;

const repeated = <T>(list: readonly T[], times: number): readonly T[] =>
  list.flatMap((one) => Array.from({ length: times }, () => one));

/** The mean reward of the samples of a group that were not dropped; 0 where all were. */
function meanOfOthers(rewards: Float32Array, dropped: ArrayLike<number>, i: number, group: number): number {
  const from = i - (i % group);
  const others = Array.from(rewards.subarray(from, from + group)).filter((_, k) => !dropped[from + k]);
  return others.reduce((sum, reward) => sum + reward, 0) / Math.max(1, others.length);
}

function failuresOf(...solved: readonly { answers: readonly Answer[]; failures: number }[]) {
  const sum = (of: (one: (typeof solved)[number]) => number): number =>
    solved.reduce((all, one) => all + of(one), 0);
  const counts = Object.entries({
    "reward.failures": sum(({ failures }) => failures),
    "tool.failures": sum(({ answers }) => total(answers, "failures")),
  });
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

const total = (answers: readonly Answer[], name: "calls" | "failures"): number =>
  answers.reduce((sum, answer) => sum + answer[name], 0);

const taskTable = {
  ...rolloutTaskRows,
  model: table.model,
  losses: required(
    option.list<RolloutTaskOptions<TextBatch, TextOutputs>["losses"][number]>(
      "a list of losses: [grpoLoss()]",
      {},
    ),
  ),
  /** The parameters that losses with a reference compare with. Default: those that training begins with. */
  reference: rolloutTaskRows.params,
  /** Learns from groups whose rewards are all equal, too. Default: false: they are dropped and counted. */
  keepUniform: option.flag({ default: false }),
};

/**
 * Reinforcement learning of a language model from rollouts of text. A unit of a batch is a group: all samples of one
 * prompt. Groups whose rewards are all equal teach nothing; they are dropped and counted.
 *
 * @example
 * ```ts
 * const task = languageTask({
 *   model,
 *   params: warmStart.params,
 *   generator: textRollouts({ model, tokenizer, lessons: [textLessons.add()], length: 8, prompts: 16 }),
 *   losses: [grpoLoss(), referenceKlLoss({ weight: 0.01 })],
 *   optimizer: optim.adam({ learningRate: 1e-4 }),
 *   batchSize: 16,
 * });
 * await new Trainer({ task, config: { epochs: 200 } }).train();
 * ```
 */
export function languageTask(options: Options<typeof taskTable>): RolloutTask {
  resolveOptions("languageTask", options, taskTable);
  const { model, reference: given, keepUniform = false, ...rest } = options;
  const compares = options.losses.some(
    (loss) => typeof loss !== "function" && loss.fields !== undefined && "reference" in loss.fields,
  );
  return rolloutTask<TextBatch, TextOutputs>({
    ...rest,
    init: (key, where) => model.init(key, spec([1, 1], "i32"), where),
    forward: (params, batch) => tokenOutputs(model, params, batch.tokens),
    ...(!keepUniform && { useful: hasVariance }),
    ...(compares && {
      reference: {
        ...(given && { params: given }),
        fields: (params, { tokens }) => ({
          reference: tokenOutputs(model, params, tokens as Value).logProbs,
        }),
      },
    }),
    settings: { model: (model.recipe ?? model.kind) as Setting, keepUniform },
    ...(model.recipe && { about: { model: model.recipe } }),
  });
}

function hasVariance({ reward }: NamedArrays, unit: number): boolean {
  if (!reward) return true;
  const group = reward.shape[1] as number;
  if (group < 2)
    throw new EspalierError(
      "SHAPE_MISMATCH",
      "languageTask: groups have one sample, and nothing to compare it with",
      {
        fix: "give textRollouts a group of 2 or more; of answers, problems with `rejected` for dpoLoss, or keepUniform: true where they are imitated",
      },
    );
  const own = reward.data.subarray(unit * group, (unit + 1) * group);
  return own.some((value) => value !== own[0]);
}
