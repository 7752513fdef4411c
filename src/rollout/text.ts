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
  badOption,
  countInWords,
  EspalierError,
  errorText,
  hasMethods,
  isWorthSaying,
  type Options,
  option,
  type Settings as Resolved,
  resolveOptions,
  shown,
  toStandardError,
} from "../core/index.ts";
import type { Tokenizer } from "../data/index.ts";
import { hostRandom, spec, type Tensor, type Value } from "../engine/index.ts";
import {
  type Conversation,
  converse,
  drawProblems,
  encodeKnown,
  encodeProblems,
  milliseconds,
  passAtK,
  required,
  scoreAll,
  type TextBatch,
  type TextLesson,
  type TextOutputs,
  type TextProblem,
  type TextReward,
  type Tool,
  tokenOutputs,
  withMethods,
} from "../language/index.ts";
import type { Params, Transformer } from "../nn/index.ts";
import type { Setting, Settings } from "../trainer/index.ts";
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
  model: required(withMethods<Transformer>("a model of nn.transformer", "applyCached")),
  tokenizer: required(withMethods<Tokenizer>("a tokenizer: characterTokenizer(text)", "encode", "decode")),
  lessons: option.made<readonly TextLesson[], { readonly required: true }>(
    "a list of lessons: [textLessons.add()]",
    (value) => Array.isArray(value) && value.length > 0 && value.every((one) => hasMethods(one, ["problem"])),
    { required: true },
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
  tool: withMethods<Tool>("a tool: { stop, call }", "call"),
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

/** Options of {@link textRollouts}. */
export interface TextRolloutOptions extends Options<typeof table> {}

/**
 * Makes rollouts of text: problems of a lesson, `group` answers to each by the model, and their rewards.
 *
 * @example
 * ```ts
 * const rollouts = textRollouts({ model, tokenizer, lessons: [textLessons.add({ digits: 2 })], length: 8 });
 * const task = languageTask({ model, generator: rollouts, losses: [grpoLoss()], optimizer, batchSize: 8 });
 * ```
 */
export function textRollouts(options: TextRolloutOptions): RolloutGenerator {
  return new TextRollouts(resolveOptions(kind, options, table));
}

class TextRollouts implements RolloutGenerator {
  readonly lessons: readonly string[];
  readonly #options: Resolved<typeof table>;
  readonly #receiver: WeightsReceiver;
  readonly #promptLength: number;
  /** How often there were failures. */
  readonly #failed = { reward: 0, tool: 0, lesson: 0 };

  constructor(options: Resolved<typeof table>) {
    const { model, lessons, length, engine } = options;
    this.#options = options;
    this.lessons = lessons.map(({ name }) => name);
    this.#promptLength = options.promptLength ?? model.context - length;
    if (this.#promptLength < 1 || this.#promptLength + length > model.context)
      throw new EspalierError(
        "CONTEXT_EXCEEDED",
        `${kind}: prompts of ${this.#promptLength} tokens and ${length} more do not fit into the model's context of ${model.context}`,
        { fix: "give a smaller length or promptLength, or the model a longer context" },
      );
    checkLessons(this.lessons);
    encodeKnown(kind, options.stop, options.tokenizer, model.vocabulary);
    const where = { ...(engine !== undefined && { engine }) };
    this.#receiver = new WeightsReceiver(kind, model.init(0, spec([1, 1], "i32"), where));
  }

  get settings(): Settings {
    const { lessons } = this;
    const { prompts, group, length, temperature, stop, heldOut, answers, turns, tool } = this.#options;
    return { lessons, prompts, group, length, temperature, stop, heldOut, answers, ...(tool && { turns }) };
  }

  setParams(weights: Params<Tensor> | NamedArrays): void {
    this.#receiver.take(weights);
  }

  async rollout(request: GeneratorRequest) {
    const { prompts: count, length, temperature, answers: own, tool } = this.#options;
    const lesson = this.#lesson(request);
    const drawn = await this.#draw(lesson, count, "train", request);
    const pairs = own && drawn.every(({ rejected }) => rejected !== undefined);
    const group = own ? (pairs ? 2 : 1) : this.#options.group;
    const problems = repeated(drawn, group);
    const prompts = this.#encode(lesson, problems);
    const { answers, rewards, dropped, failures } = own
      ? {
          answers: problems.map(({ answer, rejected }, i) =>
            this.#givenAnswer(lesson, i % group === 1 ? rejected : answer),
          ),
          rewards: Float32Array.from(problems, (_, i) => 1 - (i % group)),
          dropped: [],
          failures: 0,
        }
      : await this.#solve(lesson, problems, prompts, 1, temperature, request);

    const places = this.#promptLength + length;
    const all = count * group;
    const tokens = new Int32Array(all * places);
    const [mask, logProbs] = [new Float32Array(all * places), new Float32Array(all * places)];
    let made = 0;
    answers.forEach((answer, i) => {
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
  async evaluate(request: GeneratorRequest & { readonly examples: number }) {
    const { passAt, temperature, heldOut } = this.#options;
    const lesson = this.#lesson(request);
    const part = heldOut > 0 ? "held-out" : "train";
    const problems = await this.#draw(lesson, request.examples, part, request).catch((error: unknown) => {
      if (!this.skips(error, request.warn)) throw error;
    });
    if (!problems) return { ...scoresOf([]), metrics: { "lesson.failures": 1 } };
    const prompts = this.#encode(lesson, problems);
    const found = await this.#solve(lesson, problems, prompts, 1, 0, request);
    const scores = scoresOf(found.rewards.filter((_, i) => !found.dropped[i]));
    if (passAt.length === 0) return { ...scores, metrics: failuresOf(found) };
    const samples = Math.max(...passAt);
    const [all, begins] = [repeated(problems, samples), repeated(prompts, samples)];
    const tries = await this.#solve(lesson, all, begins, 2, temperature, request);
    const judged = problems.map((_, i) => {
      const own = Array.from(tries.rewards.subarray(i * samples, (i + 1) * samples));
      return own.filter((_, k) => !tries.dropped[i * samples + k]);
    });
    const metrics = passAt.flatMap((k) => {
      const each = judged
        .filter((rewards) => rewards.length >= k)
        .map((rewards) => passAtK(rewards.length, rewards.filter((reward) => reward > 0).length, k));
      return each.length > 0 ? [[`pass@${k}`, each.reduce((a, b) => a + b, 0) / each.length] as const] : [];
    });
    return { ...scores, metrics: { ...Object.fromEntries(metrics), ...failuresOf(found, tries) } };
  }

  skips(error: unknown, warn?: (text: string) => void): boolean {
    const { onLessonFailure } = this.#options;
    if (onLessonFailure === "error" || !(error instanceof EspalierError)) return false;
    if (!["LESSON_EMPTY", "LESSON_FAILED", "LESSON_INVALID"].includes(error.code)) return false;
    this.#tell("lesson", error, warn);
    return true;
  }

  #lesson({ lesson }: GeneratorRequest): TextLesson {
    checkLesson(lesson, this.lessons);
    return this.#options.lessons[this.lessons.indexOf(lesson)] as TextLesson;
  }

  #draw(
    lesson: TextLesson,
    count: number,
    part: "train" | "held-out",
    { key, signal }: GeneratorRequest,
  ): Promise<TextProblem[]> {
    const { heldOut, lessonTimeout: timeout } = this.#options;
    const own = hostRandom.hostFoldIn(key, 0);
    return drawProblems(lesson, { count, part, heldOut, key: own, timeout, signal });
  }

  #encode(lesson: TextLesson, problems: readonly TextProblem[]): readonly Int32Array[] {
    const { tokenizer, model } = this.#options;
    const prompts = encodeProblems(lesson, problems, tokenizer, model.vocabulary);
    const longest = Math.max(...prompts.map(({ length }) => length));
    if (longest > this.#promptLength)
      throw new EspalierError(
        "CONTEXT_EXCEEDED",
        `${kind}: a prompt of lesson "${lesson.name}" has ${longest} tokens, and promptLength is ${this.#promptLength}`,
        { fix: "give a greater promptLength, or a lesson with shorter prompts" },
      );
    return prompts;
  }

  /** A given answer, as if the model had written it. */
  #givenAnswer(lesson: TextLesson, answer: string | undefined): Conversation {
    const { tokenizer, stop, length } = this.#options;
    const tokens = answer === undefined ? new Int32Array() : tokenizer.encode(answer + stop);
    if (tokens.length === 0 || tokens.length > length)
      throw new EspalierError(
        "LESSON_INVALID",
        answer === undefined
          ? `${kind}: a problem of lesson "${lesson.name}" has no answer to learn`
          : `${kind}: an answer of lesson "${lesson.name}" has ${tokens.length} tokens, and length is ${length}`,
        { fix: "give problems with answers that are at most as long as length, the stop included" },
      );
    return {
      tokens,
      made: new Uint8Array(tokens.length).fill(1),
      logProbs: new Float32Array(tokens.length),
      text: answer ?? "",
      ended: "stop",
      calls: 0,
      failures: 0,
    };
  }

  /** Answers of the model, by the request's random numbers of this `part`, and their rewards. */
  async #solve(
    lesson: TextLesson,
    problems: readonly TextProblem[],
    prompts: readonly Int32Array[],
    part: number,
    temperature: number,
    { key, signal, warn }: GeneratorRequest,
  ) {
    const { model, tokenizer, length, stop, tool, turns, rewardTimeout, onRewardFailure } = this.#options;
    const answers = await converse(model, this.#receiver.params, prompts, {
      length,
      temperature,
      stop,
      tokenizer,
      seeds: Array.from(hostRandom.hostBits(hostRandom.hostFoldIn(key, part), problems.length)),
      tool,
      turns,
      problems,
      signal,
    });
    const samples = answers.map(({ text, tokens }, i) => ({
      lesson: lesson.name,
      ...(problems[i] as TextProblem),
      text,
      tokens,
    }));
    const options = { timeout: rewardTimeout, onFailure: onRewardFailure, signal };
    const scores = await scoreAll(samples, lesson.reward ?? this.#options.reward, options);
    this.#tell("tool", answers.find(({ failure }) => failure)?.failure, warn);
    this.#tell("reward", scores.failure, warn);
    return { answers, ...scores };
  }

  /** Warns of the first failure of a rollout or an evaluation that it does not end. */
  #tell(
    what: "reward" | "tool" | "lesson",
    failure: EspalierError | undefined,
    warn: GeneratorRequest["warn"] = toStandardError,
  ): void {
    if (!failure) return;
    const times = ++this.#failed[what];
    if (isWorthSaying(times)) warn(`${kind}: ${errorText(failure)} (${countInWords(times)})`);
  }
}

/** Each element so many times in a row. */
const repeated = <T>(list: readonly T[], times: number): readonly T[] =>
  list.flatMap((one) => Array.from({ length: times }, () => one));

/** Refuses lessons without names, or with the same: only one of them would be played. */
function checkLessons(names: readonly unknown[]): void {
  const wrong = names.findIndex((name, i) => typeof name !== "string" || !name || names.indexOf(name) < i);
  if (wrong >= 0)
    throw badOption(
      kind,
      `the name of lesson ${wrong} is ${shown(names[wrong])}${typeof names[wrong] === "string" ? ", as that of one before it" : ""}`,
      "give every lesson a name of its own: textLessons.add({ name })",
    );
}

/** The mean reward of the samples of a group that were not dropped; 0 where all were. */
function meanOfOthers(rewards: Float32Array, dropped: ArrayLike<number>, i: number, group: number): number {
  const from = i - (i % group);
  const others = Array.from(rewards.subarray(from, from + group)).filter((_, k) => !dropped[from + k]);
  return others.reduce((sum, reward) => sum + reward, 0) / Math.max(1, others.length);
}

/** Failures of rewards and tools in an evaluation, where there are some. */
function failuresOf(...solved: readonly { answers: readonly Conversation[]; failures: number }[]) {
  const sum = (of: (one: (typeof solved)[number]) => number): number =>
    solved.reduce((all, one) => all + of(one), 0);
  const counts = Object.entries({
    "reward.failures": sum(({ failures }) => failures),
    "tool.failures": sum(({ answers }) => total(answers, "failures")),
  });
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

const total = (answers: readonly Conversation[], name: "calls" | "failures"): number =>
  answers.reduce((sum, answer) => sum + answer[name], 0);

const taskTable = {
  ...rolloutTaskRows,
  model: table.model,
  losses: option.made<RolloutTaskOptions<TextBatch, TextOutputs>["losses"], { readonly required: true }>(
    "a list of losses: [grpoLoss()]",
    Array.isArray,
    { required: true },
  ),
  /** The parameters that losses with a reference compare with. Default: those that training begins with. */
  reference: rolloutTaskRows.params,
  /** Learns from groups whose rewards are all equal, too. Default: false: they are dropped and counted. */
  keepUniform: option.flag({ default: false }),
};

/** Options of {@link languageTask}: those of `rolloutTask` for a model of text. */
export interface LanguageTaskOptions extends Options<typeof taskTable> {}

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
export function languageTask(options: LanguageTaskOptions): RolloutTask {
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

/** True for groups whose rewards differ. */
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
