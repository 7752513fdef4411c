/**
 * Generation with a tool in the middle of it, many conversations at once:
 *
 *     round   generate       all that are not done, each until a stop                      generate.ts
 *             tool.stop   -> tool.call(said), all calls at once, each with a time limit
 *                            its answer is appended, and the next round goes on after it
 *             stop, no room, no calls left, no answer -> done
 *
 *     tokens     1 2 + 3 0 ?   4 2 .   o k \n
 *     made       1 1 1 1 1 1   0 0 0   1 1 1       1: the model's, with its log-probability
 *                said + stop   answer  said + stop
 *
 * A conversation depends on its prompt, its seed and its tool alone, not on those beside it.
 */
import {
  badOption,
  checkOptions,
  EspalierError,
  inTime,
  type Options,
  option,
  required,
  resolveOptions,
  type Settings,
  shown,
} from "../core/index.ts";
import { hostRandom, type Tensor } from "../engine/index.ts";
import type { Params, Transformer } from "../nn/index.ts";
import { type Generated, generate, type Prompt, roundUp, tokenizerRow } from "./generate.ts";
import { encodeKnown, type TextProblem } from "./lessons.ts";
import { abortSignal, failureText, milliseconds } from "./rewards.ts";

const toolTable = {
  /** The text by which the model calls it. */
  stop: option.text({ required: true }),
  /**
   * The answer to what the model said since the last answer, without the stop. Undefined ends the conversation.
   * A failure that the model should learn from is an answer, too: catch it here.
   */
  call: required(
    option.function<(said: string, call: ToolCall) => Answer | Promise<Answer>>(
      "a function of what was said",
      {},
    ),
  ),
  /** Milliseconds for one answer. Default: 10000. */
  timeout: option.number(milliseconds),
  /** A call that throws or takes too long: ends everything, or ends its conversation and is counted. Default: "error". */
  onFailure: option.oneOf(["error", "end"], {}),
};
type Answer = string | undefined;

/**
 * A function that a model can call while it writes.
 *
 * @example
 * ```ts
 * // "3*14?" is followed by "42.".
 * const calculator: Tool = { stop: "?", call: async (said) => `${evaluate(said)}.` };
 * ```
 */
export interface Tool extends Options<typeof toolTable> {}

/** A call of a {@link Tool}. */
export interface ToolCall {
  /** Everything after the prompt so far, earlier answers included. */
  readonly text: string;
  /** Index of the conversation, and of the call in it. */
  readonly conversation: number;
  readonly turn: number;
  readonly problem: TextProblem | undefined;
  /** Is aborted where nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** A conversation, without its prompt. */
export interface Conversation {
  /** Those of the model with its stops, and those of the tool's answers. */
  readonly tokens: Int32Array;
  /** 1 where the model made the token. */
  readonly made: Uint8Array;
  /** The model's log-probability of each token that it made, whatever the temperature; 0 elsewhere. */
  readonly logProbs: Float32Array;
  /** All of it as text, without the stop at its end. */
  readonly text: string;
  /** A stop, no more room, a call beyond `turns`, a tool that gave no answer, or one that failed. */
  readonly ended: "stop" | "length" | "turns" | "tool" | "failure";
  /** Calls of the tool, and those that failed. */
  readonly calls: number;
  readonly failures: number;
  readonly failure?: EspalierError;
}

const kind = "converse";
const table = {
  /**
   * Tokens after the prompt, those of answers included, at most. Fewer where the model's context ends, of which less
   * than an eighth, 15 places at most, stays empty after an answer.
   */
  length: option.integer({ min: 1, required: true }),
  tokenizer: required(tokenizerRow),
  /** The text that ends a conversation. Default: a line end. */
  stop: option.text({ default: "\n" }),
  tool: option.object<Tool>("a tool: { stop, call }", ["call"], {}),
  /** Calls of the tool in a conversation, at most. Default: 4. */
  turns: option.integer({ min: 0, default: 4 }),
  /** Divides the logits; 0 takes the likeliest. Default: 1. */
  temperature: option.number({ min: 0, default: 1 }),
  /** One for each conversation. Default: 0, 1, 2, ... */
  seeds: option.made<readonly number[]>("a list of whole numbers from 0 on", Array.isArray, {}),
  /** One for each conversation: for the tool. */
  problems: option.made<readonly TextProblem[]>("a list of problems", Array.isArray, {}),
  signal: abortSignal,
};

/** Options of {@link converse}. */
export interface ConverseOptions extends Options<typeof table> {}

type ConverseSettings = Settings<typeof table> & { readonly model: Transformer };

/**
 * Generates after many prompts at once, and answers the model where it calls the tool. Without a tool it is `generate`
 * with stops kept.
 *
 * @example
 * ```ts
 * const [one] = await converse(model, params, ["3*14="], {
 *   length: 32,
 *   tokenizer,
 *   tool: { stop: "?", call: async (said) => `${await calculate(said)}.` },
 * });
 * ```
 */
export async function converse(
  model: Transformer,
  params: Params<Tensor>,
  prompts: readonly Prompt[],
  options: ConverseOptions,
): Promise<Conversation[]> {
  const settings = { ...resolveOptions(kind, options, table), model };
  const { seeds, problems, stop, tool, signal, tokenizer, temperature } = settings;
  for (const [name, list] of Object.entries({ seeds, problems }))
    if (list && list.length !== prompts.length)
      throw badOption(kind, `${list.length} ${name} for ${prompts.length} prompts`, "give one for each");
  if (tool) {
    // It may be an object of a class with more in it.
    const { stop, call, timeout, onFailure } = tool;
    checkOptions(`${kind}: tool`, { stop, call, timeout, onFailure }, toolTable);
  }
  if (tool?.stop === stop)
    throw badOption(kind, `stop and the tool's stop are both ${shown(stop)}`, "give two different texts");
  // A stop that the model cannot write would never come.
  const stops = tool ? [stop, tool.stop] : [stop];
  for (const text of stops) encodeKnown(`${kind}: stop`, text, tokenizer, model.vocabulary);
  const common = { temperature, tokenizer, stop: stops, keepStop: true, logProbs: true, chunk: 16, signal };
  const all = prompts.map((prompt, i) => new Talk(prompt, i, settings));
  for (let turn = 0; ; turn++) {
    const open = all.filter(({ ended }) => ended === undefined);
    if (open.length === 0) return all.map((talk) => talk.result());
    for (const group of groupsThatFit(open, model.context)) {
      const sequences = group.map(({ sequence }) => sequence);
      const seed = group.map((talk) => talk.seed(turn));
      const needed = Math.max(...group.map((talk) => talk.room()));
      const left = model.context - Math.max(...group.map((talk) => talk.space()));
      // As many tokens after every answer, whatever is needed of them: few programs are compiled.
      const length = turn === 0 ? needed : Math.min(roundUp(settings.length, unitOf(model)), left);
      const said = await generate(model, params, sequences, { ...common, seed, length });
      for (const [i, talk] of group.entries()) talk.say(said[i] as Generated);
    }
    if (tool) await answerAll(open, tool, signal);
  }
}

/** Places of a sequence are counted in units of so many, so that few programs are compiled. */
const unitOf = ({ context }: Transformer): number => Math.max(1, Math.min(16, Math.floor(context / 8)));

async function answerAll(open: readonly Talk[], tool: Tool, signal: AbortSignal | undefined): Promise<void> {
  const over = new AbortController();
  try {
    const answers = open.map((talk) => talk.answer(tool, over.signal));
    await inTime(Promise.all(answers), undefined, signal);
  } catch (error) {
    over.abort();
    throw error;
  }
}

/**
 * Conversations that can be generated in one call: the longest of a group leaves each of them the room it has. All of
 * them, unless the model's context is nearly full.
 */
function groupsThatFit(open: readonly Talk[], context: number): readonly (readonly Talk[])[] {
  const groups: Talk[][] = [];
  let rest = open;
  while (rest.length > 0) {
    const left = context - Math.max(...rest.map((talk) => talk.space()));
    groups.push(rest.filter((talk) => talk.room() <= left));
    rest = rest.filter((talk) => talk.room() > left);
  }
  return groups;
}

/** A conversation as it grows. */
class Talk {
  readonly #settings: ConverseSettings;
  readonly #index: number;
  readonly #prompt: Int32Array;
  /** Tokens after the prompt, at most. */
  readonly #limit: number;
  readonly #tokens: number[] = [];
  readonly #made: number[] = [];
  readonly #logProbs: number[] = [];
  /** All of it before the newest stop, and the part of it that came in this round. */
  #text = "";
  #said = "";
  /** The newest stop, as it was written, where it calls the tool. */
  #stop: string | undefined;
  #calls = 0;
  #failure: EspalierError | undefined;
  ended: Conversation["ended"] | undefined;

  constructor(prompt: Prompt, index: number, settings: ConverseSettings) {
    const { tokenizer, length, model } = settings;
    this.#settings = settings;
    this.#index = index;
    this.#prompt = typeof prompt === "string" ? tokenizer.encode(prompt) : Int32Array.from(prompt);
    this.#limit = Math.min(length, model.context - this.#prompt.length);
    if (this.#limit < 1)
      throw new EspalierError(
        "CONTEXT_EXCEEDED",
        `${kind}: prompt ${index} has ${this.#prompt.length} tokens, and the model's context is ${model.context}`,
        { fix: `cut prompts to less than ${model.context} tokens, or give the model a longer context` },
      );
  }

  get sequence(): Int32Array {
    return Int32Array.from([...this.#prompt, ...this.#tokens]);
  }

  /** Places that it takes, with an answer of so many tokens: after the first round, rounded up. */
  space(answer = 0): number {
    const size = this.#prompt.length + this.#tokens.length + answer;
    return this.#tokens.length === 0 ? size : roundUp(size, unitOf(this.#settings.model));
  }

  /** Tokens that the model may still make after such an answer. */
  room(answer = 0): number {
    const left = this.#settings.model.context - this.space(answer);
    return Math.min(this.#limit - this.#tokens.length - answer, left);
  }

  /** The seed of a round: that of the conversation for the first, and one that follows from it for each later one. */
  seed(turn: number): number {
    const own = this.#settings.seeds?.[this.#index] ?? this.#index;
    if (turn === 0) return own;
    const [high = 0, low = 0] = hostRandom.hostFoldIn(hostRandom.hostKey(own), turn);
    return (high >>> 11) * 2 ** 32 + low;
  }

  /** Ends the round. Tokens for which there is no room are left out: others of its group have more. */
  say({ tokens: all, text = "", logProbs, stopped: atStop }: Generated): void {
    const { tokenizer, tool, turns } = this.#settings;
    const room = this.room();
    const stopped = atStop && all.length <= room;
    const tokens = all.subarray(0, room);
    const whole = tokenizer.decode(tokens);
    this.#said = stopped ? text : whole;
    this.#text += this.#said;
    this.#add(tokens, 1, logProbs);
    const rest = whole.slice(this.#said.length);
    if (!stopped) this.ended = "length";
    else if (!tool || !rest.startsWith(tool.stop)) this.ended = "stop";
    else if (this.#calls === turns) this.ended = "turns";
    else this.#stop = rest;
  }

  /** Has the tool answer, where this round ended with a call of it. */
  async answer(tool: Tool, over: AbortSignal): Promise<void> {
    if (this.#stop === undefined) return;
    const failed = new AbortController();
    const turn = this.#calls++;
    const call: ToolCall = {
      text: this.#text,
      conversation: this.#index,
      turn,
      problem: this.#settings.problems?.[this.#index],
      signal: AbortSignal.any([over, failed.signal]),
    };
    try {
      const answered = async () => tool.call(this.#said, call);
      this.#hear(await inTime(answered(), tool.timeout ?? 10_000));
    } catch (cause) {
      failed.abort();
      const where = `conversation ${this.#index}, call ${turn} of the tool (said ${shown(this.#said)})`;
      this.#failure = new EspalierError("TOOL_FAILED", `${kind}: ${where} failed: ${failureText(cause)}`, {
        fix: 'let the tool answer what went wrong, or count such conversations: onFailure: "end"',
        cause,
      });
      if (tool.onFailure !== "end") throw this.#failure;
      this.ended = "failure";
    }
  }

  /** Takes the tool's answer. It is left out where there is no room for it and one token of the model. */
  #hear(answer: string | undefined): void {
    if (answer === undefined) {
      this.ended = "tool";
      return;
    }
    const { tokenizer, model } = this.#settings;
    if (typeof answer !== "string") throw new TypeError(`it gave ${shown(answer)}, which is no text`);
    const tokens = encodeKnown("its answer", answer, tokenizer, model.vocabulary);
    if (this.room(tokens.length) < 1) {
      this.ended = "length";
      return;
    }
    this.#text += `${this.#stop}${answer}`;
    this.#stop = undefined;
    this.#add(tokens, 0);
  }

  #add(tokens: Int32Array, made: 0 | 1, logProbs?: Float32Array): void {
    for (const [i, token] of tokens.entries()) {
      this.#tokens.push(token);
      this.#made.push(made);
      this.#logProbs.push(logProbs?.[i] ?? 0);
    }
  }

  result(): Conversation {
    return {
      tokens: Int32Array.from(this.#tokens),
      made: Uint8Array.from(this.#made),
      logProbs: Float32Array.from(this.#logProbs),
      text: this.#text,
      // Every conversation has ended when it is asked for.
      ended: this.ended ?? "length",
      calls: this.#calls,
      failures: this.#failure ? 1 : 0,
      ...(this.#failure && { failure: this.#failure }),
    };
  }
}
