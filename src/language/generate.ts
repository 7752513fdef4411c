/**
 * Text from a transformer, token by token:
 *
 *     generate(model, params, prompts, options)
 *       prompts   -> tokens, right-padded to one length P                  prepare
 *       prefill   one call: all prompts at once into the cache, and the
 *                 first new token of each sequence                         programsOf
 *       decode    one call for many tokens, a loop on the device:
 *                 cache  <- key and value of the newest token
 *                 token  <- drawn by its logits                            drawn
 *       tokens    -> cut at stops, decoded, given out                      Sequence
 *
 * Many sequences run as groups, beside each other on the cores of a CPU (`sideBySide`), and the cache grows as they do.
 *
 * Places of the cache: 0 to P - 1 are the prompts', of which a shorter one leaves the last empty and hidden; the new
 * tokens of all sequences go to P, P + 1, ... So a step writes one slice whatever the prompts' lengths. Positions count
 * without the gap.
 */
import {
  badOption,
  EspalierError,
  hasMethods,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../core/index.ts";
import type { Tokenizer } from "../data/index.ts";
import {
  compile,
  type HostArray,
  hostRandom,
  np,
  random,
  read,
  sideBySide,
  type Tensor,
  type Value,
  vmap,
  whileLoop,
} from "../engine/index.ts";
import type { KeyValueCache, Model, Params, Transformer } from "../nn/index.ts";
import { abortSignal } from "./rewards.ts";

/** Turns text into tokens and back. Where it says how many tokens it has, no others are drawn. */
type TextTokenizer = Pick<Tokenizer, "encode" | "decode"> & Partial<Pick<Tokenizer, "vocabulary">>;

/** A prompt: tokens, or text where there is a tokenizer. */
export type Prompt = string | ArrayLike<number>;

/** A sequence that was generated, without its prompt. */
export interface Generated {
  readonly tokens: Int32Array;
  /** Where there is a tokenizer. */
  readonly text?: string;
  /** Where they were asked for: one for each token. */
  readonly logProbs?: Float32Array;
  /** True where a stop ended it. */
  readonly stopped: boolean;
}

/** New tokens of one sequence. */
export interface TokenChunk extends Generated {
  /** The index of its prompt. */
  readonly sequence: number;
}

const kind = "generate";
export const tokenizerRow = option.object<TextTokenizer>(
  "a tokenizer, such as byteTokenizer()",
  ["encode", "decode"],
  {},
);
const table = {
  /** New tokens of each sequence, at most. */
  length: option.integer({ min: 1, required: true }),
  /** Divides the logits: below 1 likely tokens get likelier; 0 takes the likeliest. Default: 1. */
  temperature: option.number({ min: 0, default: 1 }),
  /** Draws among so many of the likeliest tokens. Default: all. */
  topK: option.integer({ min: 1 }),
  /** Draws among the likeliest tokens that have this probability together. Default: 1, all. */
  topP: option.number({ above: 0, max: 1, default: 1 }),
  /**
   * Ends a sequence before this token or text, or before the first of several. Of a text that is several tokens,
   * `tokens` has all but the last.
   */
  stop: option.made<number | string | readonly (number | string)[]>(
    "a token or a text, or a list of them",
    (value) =>
      [value].flat().every((one) => one !== "" && (typeof one === "string" || Number.isSafeInteger(one))),
    {},
  ),
  /** Keeps the token that ended a sequence, with its log-probability: training needs both. Default: false. */
  keepStop: option.flag({ default: false }),
  /** The seed of samples, or one for each sequence. Default: 0. */
  seed: option.made<number | readonly number[], { readonly default: number }>(
    "a whole number from 0 on, or one for each prompt",
    (value) => [value].flat().every((one) => Number.isSafeInteger(one) && (one as number) >= 0),
    { default: 0 },
  ),
  /** Makes tokens of text prompts, and text of tokens. */
  tokenizer: tokenizerRow,
  /** Gives the model's log-probability of each new token, whatever the temperature. Default: false. */
  logProbs: option.flag({ default: false }),
  /** New tokens of each sequence in a call, and so between two looks at stops. Default: 32, in `generate` 64. */
  chunk: option.integer({ min: 1, default: 32 }),
  /** Ends it with an error between two calls. */
  signal: abortSignal,
};

/** Options of {@link generate}. */
export interface GenerateOptions extends Options<typeof table> {}

/**
 * Generates tokens after a prompt, or after many at once. Prompts may differ in length; what follows one does not
 * depend on the others.
 *
 * @example
 * ```ts
 * const { text } = await generate(model, params, "To be", { length: 100, temperature: 0.8, topK: 40, tokenizer });
 * const [a, b] = await generate(model, params, [[1, 2, 3], [4]], { length: 10, seed: [7, 8] });
 * ```
 */
export async function generate<P extends Prompt | readonly Prompt[]>(
  model: Model<never, unknown>,
  params: Params<Tensor>,
  prompt: P,
  options: GenerateOptions,
): Promise<P extends Prompt ? Generated : Generated[]> {
  const many = isMany(prompt);
  const parts: TokenChunk[][] = (many ? prompt : [prompt]).map(() => []);
  for await (const chunk of streamTokens(model, params, prompt, { ...options, chunk: options?.chunk ?? 64 }))
    parts[chunk.sequence]?.push(chunk);
  const whole = parts.map((chunks): Generated => {
    const logProbs = chunks.flatMap((chunk) => Array.from(chunk.logProbs ?? []));
    return {
      tokens: Int32Array.from(chunks.flatMap(({ tokens }) => Array.from(tokens))),
      ...(options.tokenizer && { text: chunks.map(({ text }) => text).join("") }),
      ...(options.logProbs && { logProbs: Float32Array.from(logProbs) }),
      stopped: chunks.some(({ stopped }) => stopped),
    };
  });
  return (many ? whole : whole[0]) as P extends Prompt ? Generated : Generated[];
}

/** True for a list of prompts; one prompt is a text or has numbers. */
const isMany = (prompt: Prompt | readonly Prompt[]): prompt is readonly Prompt[] =>
  Array.isArray(prompt) && typeof prompt[0] !== "number" && prompt.length > 0;

/**
 * Generates as {@link generate} does, and gives tokens out on the way: some of each sequence at a time. Leaving the
 * loop ends it.
 *
 * @example
 * ```ts
 * for await (const { text } of streamTokens(model, params, "To be", { length: 500, tokenizer })) write(text);
 * ```
 */
export async function* streamTokens(
  model: Model<never, unknown>,
  params: Params<Tensor>,
  prompt: Prompt | readonly Prompt[],
  options: GenerateOptions,
): AsyncGenerator<TokenChunk> {
  const run = prepare(model, isMany(prompt) ? prompt : [prompt], options);
  options.signal?.throwIfAborted();
  const { groups, padded, rows, length, chunk } = run;
  const { prefill, decode } = programsOf(run.model, run.mode, run.logProbs, run.drawable);
  const sequences = run.tokens.map(() => new Sequence(options, run.drawable));
  const { each, dispose } = await sideBySide(params, groups.length);
  const paramsOf = (group: number): Params<Tensor> => each[group % each.length] as Params<Tensor>;
  try {
    let states = groups.map(({ tokens, given }, g) => prefill(paramsOf(g), tokens, given, padded));
    // The first token follows from the prompt alone; calls give those after it.
    let made = await read(states.map(({ token, logProb }) => ({ tokens: token, logProbs: logProb })));
    let width = 1;
    for (let from = 1; ; from += chunk) {
      const last = from >= length;
      for (const [i, sequence] of sequences.entries()) {
        options.signal?.throwIfAborted();
        const { tokens, logProbs } = made[Math.floor(i / rows)] as (typeof made)[number];
        const part = sequence.take(row(tokens, i, rows), row(logProbs, i, rows), width, last);
        if (part) yield { sequence: i, ...part };
      }
      if (last || sequences.every(({ done }) => done)) return;
      width = Math.min(chunk, length - from);
      const places = padded + placesFor(from + width - 1, length);
      const steps = Int32Array.of(from, from + width, padded);
      const results = groups.map(({ given }, g) =>
        decode(paramsOf(g), states[g] as (typeof states)[number], steps, given, chunk, places),
      );
      states = results.map(({ tokens: _tokens, logProbs: _logProbs, ...next }) => next);
      made = await read(results.map(({ tokens, logProbs }) => ({ tokens, logProbs })));
    }
  } finally {
    dispose();
  }
}

/** The part of a result of `rows` sequences that belongs to sequence i of all. */
function row(all: HostArray, i: number, rows: number): HostArray {
  const width = all.length / rows;
  return all.subarray((i % rows) * width, ((i % rows) + 1) * width);
}

/** Checks everything before anything is compiled, and lays prompts out. */
function prepare(model: Model<never, unknown>, prompts: readonly Prompt[], options: GenerateOptions) {
  const settings = resolveOptions(kind, options, table);
  if (!isTransformer(model))
    throw new EspalierError("MODEL_INVALID", `${kind}: the model is ${shown((model as Model)?.kind)}`, {
      fix: "give a model of nn.transformer, which keeps keys and values of earlier tokens",
    });
  const { length, tokenizer, temperature, topK, topP, seed, logProbs, chunk } = settings;
  const { context, vocabulary } = model;
  const tokens = prompts.map((prompt, i) => tokensOf(prompt, i, tokenizer, vocabulary));
  const longest = Math.max(...tokens.map((one) => one.length));
  if (longest + length > context)
    throw new EspalierError(
      "CONTEXT_EXCEEDED",
      `${kind}: a prompt of ${longest} tokens and ${length} more do not fit into the model's context of ${context}`,
      { fix: "generate less, cut the prompts, or give the model a longer context" },
    );
  if (typeof seed === "object" && seed.length !== prompts.length)
    throw badOption(
      kind,
      `${seed.length} seeds for ${prompts.length} prompts`,
      "give one seed for all, or one for each prompt",
    );
  // Few shapes, so that one program serves many calls. Groups run beside each other: a loop uses one core of a CPU.
  const count = Math.ceil(prompts.length / most);
  const each = Math.ceil(prompts.length / count);
  const rows = each > 8 ? roundUp(each, 8) : 2 ** Math.ceil(Math.log2(each));
  const padded = Math.min(roundUp(longest, 16), context - length);
  const shared = {
    temperature: Float32Array.of(temperature),
    topK: Int32Array.of(Math.min(topK ?? vocabulary, vocabulary)),
    topP: Float32Array.of(topP),
  };
  const groups = Array.from({ length: count }, () => ({
    tokens: new Int32Array(rows * padded),
    given: { lengths: new Int32Array(rows).fill(1), keys: new Uint32Array(rows * 2), ...shared },
  }));
  tokens.forEach((own, i) => {
    const { tokens: laid, given } = groups[Math.floor(i / rows)] as (typeof groups)[number];
    const at = i % rows;
    laid.set(own, at * padded);
    given.lengths[at] = own.length;
    const [first, of] = typeof seed === "number" ? [seed, i] : [seed[i] as number, 0];
    given.keys.set(hostRandom.hostFoldIn(hostRandom.hostKey(first), of), at * 2);
  });
  const mode: Mode = temperature === 0 ? "greedy" : topK !== undefined || topP < 1 ? "likely" : "all";
  const drawable = Math.min(tokenizer?.vocabulary ?? vocabulary, vocabulary);
  return { model, tokens, rows, length, padded, groups, logProbs, chunk, mode, drawable };
}

/** How tokens are drawn: the likeliest, among all, or among the likeliest. */
type Mode = "greedy" | "all" | "likely";

/** Sequences in a group, at most. */
const most = 32;

/**
 * Places for new tokens: they double, so that steps do not look at much that is still empty, and few programs are
 * compiled.
 */
const placesFor = (tokens: number, length: number): number =>
  Math.min(Math.max(64, 2 ** Math.ceil(Math.log2(tokens))), length);

export const roundUp = (n: number, to: number): number => Math.ceil(n / to) * to;

const isTransformer = (model: Model<never, unknown>): model is Transformer =>
  hasMethods(model, ["applyCached", "initCache"]);

function tokensOf(
  prompt: Prompt,
  i: number,
  tokenizer: TextTokenizer | undefined,
  vocabulary: number,
): Int32Array {
  const invalid = (what: string, fix: string): EspalierError =>
    new EspalierError("PROMPT_INVALID", `${kind}: prompt ${i} ${what}`, { fix });
  if (typeof prompt === "string" && !tokenizer)
    throw invalid("is a text, and there is no tokenizer", "give tokens, or the option tokenizer");
  const tokens = typeof prompt === "string" ? tokenizer?.encode(prompt) : prompt;
  if (!(typeof tokens === "object" && tokens.length > 0))
    throw invalid(`is ${shown(prompt)}, which has no tokens`, "begin with one token at least");
  const list = Array.from(tokens);
  const bad = list.findIndex((token) => !Number.isSafeInteger(token) || token < 0 || token >= vocabulary);
  if (bad >= 0)
    throw invalid(
      `has ${shown(list[bad])} at ${bad}, and the model knows tokens from 0 to ${vocabulary - 1}`,
      "use the tokenizer that the model was trained with",
    );
  return Int32Array.from(list);
}

/** Numbers that decide what is drawn, the same for every step. */
type Given = Readonly<Record<"lengths" | "keys" | "temperature" | "topK" | "topP", Value>>;

/** The newest token of each sequence, which is not in the cache yet. */
interface DecodeState {
  readonly cache: readonly KeyValueCache[];
  readonly token: Value;
  readonly logProb: Value;
}

const known = new WeakMap<Transformer, Map<string, ReturnType<typeof compilePrograms>>>();

/** The compiled programs of a model, kept as long as the model is. */
function programsOf(model: Transformer, ...what: [mode: Mode, logProbs: boolean, drawable: number]) {
  const own: NonNullable<ReturnType<typeof known.get>> = known.get(model) ?? new Map();
  const name = what.join(" ");
  const programs = own.get(name) ?? compilePrograms(model, ...what);
  known.set(model, own.set(name, programs));
  return programs;
}

/** `drawable`: tokens that may be drawn, the first ones. A padded vocabulary has more, which no tokenizer knows. */
function compilePrograms(model: Transformer, mode: Mode, wantsLogProbs: boolean, drawable: number) {
  const drawableOf = (x: Value): Value =>
    drawable === model.vocabulary || x.size === 0 ? x : np.slice(x, ":", [0, drawable]);

  /** Random numbers of a step, [rows, vocabulary]: each row has its own, by its key. */
  const noiseOf = (step: Value, { keys, lengths }: Given): Value =>
    mode === "greedy"
      ? np.zeros([0])
      : vmap((key: Value) => random.gumbel(random.foldIn(key, step), [model.vocabulary]))(
          np.reshape(keys, [lengths.shape[0] as number, 2]),
        );

  /**
   * Noise of two steps [2, rows, vocabulary], that of the given one new. It is a kernel of its own, because inside the
   * search for the largest it would not be vectorised; and it writes a part of an array, because one that makes a whole
   * array is cut up for several threads, whose waking takes longer than the noise.
   */
  const noiseAfter = (both: Value, step: Value, given: Given): Value =>
    mode === "greedy"
      ? both
      : np.dynamicUpdateSlice(both, np.expandDims(noiseOf(step, given), 0), [np.remainder(step, 2), 0, 0]);
  const noiseIn = (both: Value, step: Value): Value =>
    np.squeeze(np.dynamicSlice(both, [np.remainder(step, 2), 0, 0], [1, ...both.shape.slice(1)]), {
      axis: 0,
    });

  /** The next token of each sequence by logits [rows, 1, vocabulary]. */
  const next = (logits: Value, given: Given, noise: Value): Omit<DecodeState, "cache"> => {
    const flat = np.squeeze(logits, { axis: 1 });
    const token = drawn(mode, drawableOf(flat), given, drawableOf(noise));
    if (!wantsLogProbs) return { token, logProb: np.zeros([0]) };
    const chosen = np.squeeze(np.takeAlongAxis(flat, column(token), { axis: -1 }), { axis: -1 });
    return { token, logProb: np.subtract(chosen, np.logsumexp(flat, { axis: -1 })) };
  };

  const prefill = compile(
    (params: Params, tokens: Value, given: Given, padded: number): DecodeState => {
      const cache = model.initCache(given.lengths.shape[0] as number, padded);
      const only = np.subtract(given.lengths, 1);
      const first = model.applyCached(params, np.reshape(tokens, [-1, padded]), cache, 0, { only });
      return { cache: first.cache, ...next(first.y, given, noiseOf(np.zeros([], { dtype: "i32" }), given)) };
    },
    { static: [3], name: "prefill" },
  );

  /** The same cache with room for more tokens. */
  const grown = (x: Value, places: number): Value =>
    np.pad(x, [
      [0, 0],
      [0, places - (x.shape[1] as number)],
      [0, 0],
    ]);

  const decode = compile(
    (
      params: Params,
      { cache, token, logProb }: DecodeState,
      steps: Value,
      given: Given,
      chunk: number,
      total: number,
    ) => {
      const roomy = cache.map(({ k, v }) => ({ k: grown(k, total), v: grown(v, total) }));
      const [from, to, padded] = [0, 1, 2].map((i) => np.slice(steps, i)) as [Value, Value, Value];
      const rows = given.lengths.shape[0] as number;
      const places = np.arange(total, { dtype: "i32" });
      // The end of a shorter prompt is a gap.
      const filled = np.logicalOr(np.less(places, column(given.lengths)), np.greaterEqual(places, padded));
      const mask = np.expandDims(filled, [1, 2]);
      const room = {
        tokens: np.zeros([rows, chunk], { dtype: "i32" }),
        logProbs: np.zeros([rows, wantsLogProbs ? chunk : 0]),
      };
      const end = whileLoop(
        ({ step }) => np.less(step, to),
        ({ step, noise, state: { cache, token }, made }) => {
          // The token before this step takes its place in the cache.
          const at = np.subtract(step, 1);
          const slot = np.add(padded, at);
          const options = { positions: column(np.add(given.lengths, at)), mask };
          const { y, cache: after } = model.applyCached(params, column(token), cache, slot, options);
          const newest = next(y, given, noiseIn(noise, step));
          const later = np.add(step, 1);
          /** Results without a column for each step stay empty. */
          const write = (all: Value, one: Value): Value =>
            all.size === 0 ? all : np.dynamicUpdateSlice(all, column(one), [0, np.subtract(step, from)]);
          return {
            step: later,
            noise: noiseAfter(noise, later, given),
            state: { cache: after, ...newest },
            made: {
              tokens: write(made.tokens, newest.token),
              logProbs: write(made.logProbs, newest.logProb),
            },
          };
        },
        {
          step: from,
          noise: noiseAfter(np.zeros([2, rows, model.vocabulary]), from, given),
          state: { cache: roomy, token, logProb },
          made: room,
        },
      );
      return { ...end.state, ...end.made };
    },
    { static: [4, 5], donate: [1], name: "decode", flags: decodeFlags },
  );
  return { prefill, decode };
}

/** Wide vectors for the many small products of a step; fast maxima for softmax, whose sums still show what is NaN. */
const decodeFlags = { xla_cpu_prefer_vector_width: 512, xla_cpu_enable_fast_min_max: true };

/** [rows] as [rows, 1]. */
const column = (x: Value): Value => np.expandDims(x, -1);

/** A token for each row of logits [rows, vocabulary]. */
function drawn(mode: Mode, logits: Value, { temperature, topK, topP }: Given, noise: Value): Value {
  if (mode === "greedy") return largestAt(logits);
  const scaled = np.divide(logits, temperature);
  const allowed = mode === "all" ? scaled : likeliest(scaled, topK, topP);
  // The largest of logits with Gumbel noise is a sample of their softmax.
  return largestAt(np.add(allowed, noise));
}

/**
 * The first index of the largest of each row. `np.argmax` compares numbers with their indices, which XLA's CPU compiler
 * does not vectorise, and which it takes for enough work to wake other threads.
 */
function largestAt(x: Value): Value {
  const count = x.shape[1] as number;
  const isLargest = np.equal(x, np.max(x, { axis: -1, keepdims: true }));
  // Numbers that are none have no largest: the host looks for this index, which is no token.
  return np.min(np.where(isLargest, np.arange(count, { dtype: "i32" }), count), { axis: -1 });
}

/** The logits of the likeliest tokens, and minus infinity for the others: the first k, and of those the nucleus p. */
function likeliest(logits: Value, topK: Value, topP: Value): Value {
  const ordered = np.sort(logits, { axis: -1, descending: true });
  const rank = np.arange(logits.shape[1] as number, { dtype: "i32" });
  const first = np.where(np.less(rank, topK), ordered, Number.NEGATIVE_INFINITY);
  const chances = np.exp(np.subtract(first, np.logsumexp(first, { axis: -1, keepdims: true })));
  // Those that are reached before the likelier ones have the probability together: the first always is.
  const before = np.subtract(np.cumsum(chances, { axis: -1 }), chances);
  const kept = np.logicalAnd(np.less(rank, topK), np.less(before, topP));
  const least = np.min(np.where(kept, ordered, Number.POSITIVE_INFINITY), { axis: -1, keepdims: true });
  return np.where(np.less(logits, least), Number.NEGATIVE_INFINITY, logits);
}

/** One sequence as it grows on the host: finds stops, and decodes. */
class Sequence {
  readonly #options: GenerateOptions;
  /** The number of tokens that may be drawn. */
  readonly #drawable: number;
  readonly #stops: readonly (number | string)[];
  readonly #stopTexts: readonly string[];
  readonly #tokens: number[] = [];
  /** Characters that were given out. */
  #given = 0;
  done = false;

  constructor(options: GenerateOptions, drawable: number) {
    this.#options = options;
    this.#drawable = drawable;
    this.#stops = [options.stop ?? []].flat();
    this.#stopTexts = this.#stops.filter((one) => typeof one === "string");
    if (!options.tokenizer && this.#stopTexts.length > 0)
      throw badOption(
        kind,
        "stop is a text, and there is no tokenizer",
        "give the stop as a token, or the option tokenizer",
      );
  }

  /** Adds tokens, and gives what is new; undefined where nothing is. */
  take(tokens: HostArray, logProbs: HostArray, width: number, last: boolean): Generated | undefined {
    if (this.done) return undefined;
    const { tokenizer, keepStop, logProbs: wantsLogProbs } = this.#options;
    const before = this.#tokens.length;
    const made = tokens.subarray(0, width);
    const bad = made.indexOf(this.#drawable);
    this.#tokens.push(...(bad < 0 ? made : made.subarray(0, bad)));
    const end = this.#stopAt(before);
    if (bad >= 0 && !end)
      throw new EspalierError("OUTPUTS_NOT_FINITE", `${kind}: the model's outputs are no numbers`, {
        fix: "look for parameters that are NaN or infinite: a training that went wrong, or a damaged file",
      });
    this.done = last || end !== undefined;
    if (end) this.#tokens.length = end.tokens + (keepStop ? 1 : 0);
    const fresh = Int32Array.from(this.#tokens.slice(before));
    const text = tokenizer && this.#freshText(end?.text ?? this.#decoded(end?.tokens ?? this.#tokens.length));
    if (fresh.length === 0 && !this.done) return undefined;
    return {
      tokens: fresh,
      ...(text !== undefined && { text }),
      ...(wantsLogProbs && { logProbs: Float32Array.from(logProbs.subarray(0, fresh.length)) }),
      stopped: end !== undefined,
    };
  }

  /** The number of tokens before the first stop, and the text before it where it is a text. */
  #stopAt(from: number): { readonly tokens: number; readonly text?: string } | undefined {
    for (let n = from; n < this.#tokens.length; n++) {
      if (this.#stops.includes(this.#tokens[n] as number)) return { tokens: n };
      if (this.#stopTexts.length === 0) continue;
      const text = this.#decoded(n + 1);
      const places = this.#stopTexts.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
      if (places.length > 0) return { tokens: n, text: text.slice(0, Math.min(...places)) };
    }
    return undefined;
  }

  #decoded(count: number): string {
    return (this.#options.tokenizer as TextTokenizer).decode(Int32Array.from(this.#tokens.slice(0, count)));
  }

  /** The part of the text that was not given out yet. What may be the beginning of a stop or of a character waits. */
  #freshText(whole: string): string {
    const waits = this.done
      ? 0
      : Math.max(...this.#stopTexts.map((stop) => overlap(whole, stop)), brokenEnd(whole));
    const text = whole.slice(this.#given, Math.max(this.#given, whole.length - waits));
    this.#given += text.length;
    return text;
  }
}

/** Length of the longest end of `text` that `stop` begins with. */
function overlap(text: string, stop: string): number {
  let n = Math.min(text.length, stop.length - 1);
  while (n > 0 && !stop.startsWith(text.slice(-n))) n--;
  return n;
}

/** Replacement characters at the end: bytes of a character whose others are still to come. */
const brokenEnd = (text: string): number => /\uFFFD*$/.exec(text)?.[0].length ?? 0;
