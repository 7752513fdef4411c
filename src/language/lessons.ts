/**
 * Lessons whose answers can be checked, for reinforcement learning of language models:
 *
 *     textLessons.add({ digits: 2 })      -> TextLesson "add-2"
 *     drawProblems(lesson, { part })      -> { prompt: "12+34=", answer: "46" }, ...      by key
 *     encodeProblems(problems, tokenizer) -> tokens of the prompts
 *     generation (conversations.ts)       -> "46\n": the model's text, to the line end
 *     scoreAll (rewards.ts)               -> 1
 *
 * Prompts are split once and for all: those with a small hash are held out, and training never sees them.
 */
import {
  badOption,
  checkOptions,
  EspalierError,
  inTime,
  Late,
  nameWords,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../core/index.ts";
import type { Tokenizer } from "../data/index.ts";
import { hostRandom } from "../engine/index.ts";
import { type EnvironmentRandom, SeededRandom } from "../rl/index.ts";
import { abortSignal, failureText, milliseconds, type TextReward } from "./rewards.ts";

/** A question to a model. */
export interface TextProblem {
  /** The text that the model goes on from. */
  readonly prompt: string;
  /** The right answer, where there is one. */
  readonly answer?: string;
  /** A worse answer, for learning from pairs. */
  readonly rejected?: string;
  /** Anything else that the reward looks at. */
  readonly data?: unknown;
}

/**
 * A source of problems, and how their answers are judged.
 *
 * @example
 * ```ts
 * const doubling: TextLesson = {
 *   name: "double",
 *   problem: (random) => {
 *     const n = random.integer(500);
 *     return { prompt: `2*${n}=`, answer: String(2 * n) };
 *   },
 * };
 * ```
 */
export interface TextLesson {
  readonly name: string;
  /** A problem, by these random numbers alone. */
  problem(random: EnvironmentRandom): TextProblem | Promise<TextProblem>;
  /** Default: 1 where the text is the answer, otherwise 0. */
  readonly reward?: TextReward;
}

/** Text that ends an answer in {@link textLessons}: the model writes it last. */
const answerEnd = "\n";
const letterRow = "abcdefghijklmnopqrstuvwxyz";
const bracketPairs = "()[]{}";

/** One number, or the least and the most. */
type Range = number | readonly [least: number, most: number];

const range = (most: number, fallback: number) =>
  option.made<Range, { readonly default: Range }>(
    `a whole number from 1 to ${most}, or two of them: [1, ${fallback}]`,
    (value) => {
      const list = typeof value === "number" ? [value] : Array.isArray(value) ? (value as unknown[]) : [];
      const whole = list.every((one) => Number.isInteger(one) && Number(one) >= 1 && Number(one) <= most);
      return whole && (list.length === 1 || (list.length === 2 && Number(list[0]) <= Number(list[1])));
    },
    { default: fallback },
  );

const stringTable = {
  /** Characters of the string: a number, or the least and the most. Default: 5. */
  length: range(10_000, 5),
  /** The characters that it is made of; brackets in pairs. Default: a to z, or "()[]{}". */
  letters: option.text({}),
  /** Default: made of the kind and the length, "copy-5". */
  name: option.text({}),
};

/** `most`: digits whose results are exact. */
const numberTable = (most: number) => ({
  /** Digits of each of the two numbers: a number, or the least and the most. Default: 2. */
  digits: range(most, 2),
  /** Default: made of the kind and the digits, "add-2". */
  name: option.text({}),
});

const nameOf = (kind: string, size: Range): string => [kind, size].flat().join("-");

const drawSize = (random: EnvironmentRandom, size: Range): number => {
  const [least, most] = typeof size === "number" ? [size, size] : size;
  return least + random.integer(most - least + 1);
};

function stringLesson(
  kind: string,
  sign: string,
  answerOf: (letters: readonly string[]) => readonly string[],
) {
  return (options: Options<typeof stringTable> = {}): TextLesson => {
    const { length, letters, name } = resolveOptions(`textLessons.${kind}`, options, stringTable);
    const known = [...(letters ?? letterRow)];
    return {
      name: name ?? nameOf(kind, length),
      problem: (random) => {
        const string = Array.from({ length: drawSize(random, length) }, () => random.pick(known));
        return { prompt: `${sign}:${string.join("")}=`, answer: answerOf(string).join("") };
      },
    };
  };
}

function numberLesson(kind: string, sign: string, most: number, resultOf: (a: number, b: number) => number) {
  const table = numberTable(most);
  return (options: Options<typeof table> = {}): TextLesson => {
    const { digits, name } = resolveOptions(`textLessons.${kind}`, options, table);
    const operand = (random: EnvironmentRandom): number => {
      const count = drawSize(random, digits);
      const least = count === 1 ? 0 : 10 ** (count - 1);
      return Math.floor(random.uniform(least, 10 ** count));
    };
    return {
      name: name ?? nameOf(kind, digits),
      problem: (random) => {
        const [a, b] = [operand(random), operand(random)];
        return { prompt: `${a}${sign}${b}=`, answer: String(resultOf(a, b)) };
      },
    };
  };
}

/** Opening brackets and some closed again; the answer closes the others, innermost first. */
function brackets(options: Options<typeof stringTable> = {}): TextLesson {
  const kind = "textLessons.brackets";
  const { length, letters = bracketPairs, name } = resolveOptions(kind, options, stringTable);
  const all = [...letters];
  if (all.length % 2 !== 0 || new Set(all).size !== all.length)
    throw badOption(kind, `letters is ${shown(letters)}`, 'give pairs of different characters: "()[]"');
  const pairs = Array.from({ length: all.length / 2 }, (_, i) => [all[2 * i], all[2 * i + 1]] as const);
  return {
    name: name ?? nameOf("brackets", length),
    problem: (random) => {
      const open: string[] = [];
      let string = "";
      for (let left = drawSize(random, length); left > 0; left--) {
        // The last one leaves something to close.
        const closes = random.uniform() < 0.5 && open.length > (left === 1 ? 1 : 0);
        if (closes) string += open.pop();
        else {
          const [opening, closing] = random.pick(pairs) as readonly [string, string];
          string += opening;
          open.push(closing);
        }
      }
      return { prompt: `${string}=`, answer: open.reverse().join("") };
    },
  };
}

/**
 * Lessons that a small transformer can learn, with answers that can be checked. An answer ends with a line end.
 *
 * | lesson | prompt | answer |
 * |---|---|---|
 * | `copy({ length: 3 })` | `c:dab=` | `dab` |
 * | `reverse({ length: 3 })` | `r:dab=` | `bad` |
 * | `sort({ length: 3 })` | `s:dab=` | `abd` |
 * | `add({ digits: 2 })` | `12+34=` | `46` |
 * | `multiply({ digits: [1, 2] })` | `3*12=` | `36` |
 * | `brackets({ length: 4 })` | `([]{=` | `})` |
 *
 * @example
 * ```ts
 * const lessons = [textLessons.add({ digits: 1 }), textLessons.add({ digits: 2 })]; // "add-1", "add-2"
 * const tokenizer = characterTokenizer(textLessons.alphabet);                       // serves all of them
 * ```
 */
export const textLessons = {
  copy: stringLesson("copy", "c", (letters) => letters),
  reverse: stringLesson("reverse", "r", (letters) => [...letters].reverse()),
  sort: stringLesson("sort", "s", (letters) => [...letters].sort()),
  add: numberLesson("add", "+", 15, (a, b) => a + b),
  multiply: numberLesson("multiply", "*", 7, (a, b) => a * b),
  brackets,
  /** All characters of their prompts and answers, the line end too: the text of a `characterTokenizer`. */
  alphabet: `${answerEnd}0123456789+*=:${bracketPairs}${letterRow}`,
  /** The text that ends an answer: a line end. */
  end: answerEnd,
} as const;

const drawTable = {
  count: option.integer({ min: 0, required: true }),
  /** All random numbers follow from it: two words, as `GeneratorRequest` has them, or a seed. */
  key: option.made<Uint32Array | number, { readonly required: true }>(
    "a key of two words, or a seed",
    (value) => (value instanceof Uint32Array && value.length === 2) || Number.isSafeInteger(value),
    { required: true },
  ),
  /** Prompts to train with, or those that training never sees. Default: "train". */
  part: option.oneOf(["train", "held-out"], { default: "train" }),
  /** The share of prompts that are held out. Default: 0.1. */
  heldOut: option.number({ min: 0, max: 1, default: 0.1 }),
  /** Milliseconds for one call of a lesson's `problem`, where it is asynchronous. Default: 10000. */
  timeout: option.number({ ...milliseconds, default: 10_000 }),
  signal: abortSignal,
};

/** Draws for one problem before a lesson counts as empty. */
const mostDraws = 10_000;

/**
 * Draws problems of one part of a lesson: the same for the same key, and the first ones the same for a larger `count`.
 * A prompt belongs to a part by its hash, so that it is in the same one in every draw, run and process.
 *
 * @example
 * ```ts
 * const test = await drawProblems(textLessons.add(), { count: 64, key: 0, part: "held-out" });
 * ```
 */
export async function drawProblems(
  lesson: TextLesson,
  options: Options<typeof drawTable>,
): Promise<TextProblem[]> {
  const { count, key, part, heldOut, timeout, signal } = resolveOptions("drawProblems", options, drawTable);
  const root = typeof key === "number" ? hostRandom.hostKey(key) : key;
  const random = new SeededRandom(0);
  const problems: TextProblem[] = [];
  const drawOne = async (): Promise<TextProblem> => {
    try {
      return await inTime(lesson.problem(random), timeout, signal);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof Late) {
        const what = `has given no problem for ${timeout} ms`;
        throw lessonError(
          "LESSON_EMPTY",
          lesson,
          what,
          "let problem() answer, or raise timeout (lessonTimeout of textRollouts)",
        );
      }
      const what = `failed to make a problem: ${failureText(cause)}`;
      throw lessonError("LESSON_FAILED", lesson, what, "look at its function problem", cause);
    }
  };
  for (let i = 0; i < count; i++) {
    signal?.throwIfAborted();
    random.setState(hostRandom.hostBits(hostRandom.hostFoldIn(root, i), 4));
    let found: TextProblem | undefined;
    for (let draws = 0; found === undefined && draws < mostDraws; draws++) {
      const made = checkProblem(lesson, await drawOne());
      if (isHeldOut(made.prompt, heldOut) === (part === "held-out")) found = made;
    }
    if (!found)
      throw lessonError(
        "LESSON_EMPTY",
        lesson,
        `has given no ${part} prompt in ${mostDraws} draws, with a share of ${heldOut} held out`,
        "let it make more different prompts, or change heldOut",
      );
    problems.push(found);
  }
  return problems;
}

/** True for the prompts that training never sees. The hash is the prompt's alone: it never changes. */
export const isHeldOut = (prompt: string, share: number): boolean => nameWords(prompt)[0] < share * 2 ** 32;

function lessonError(
  code: string,
  lesson: TextLesson,
  what: string,
  fix: string,
  cause?: unknown,
): EspalierError {
  return new EspalierError(code, `lesson "${lesson.name}" ${what}`, { fix, cause });
}

function checkProblem(lesson: TextLesson, given: TextProblem): TextProblem {
  const { prompt, answer, rejected } = (given ?? {}) as Partial<TextProblem>;
  const invalid = (what: string, fix: string): EspalierError =>
    lessonError("LESSON_INVALID", lesson, `has given ${what}`, fix);
  if (typeof prompt !== "string" || prompt === "")
    throw invalid(`${shown(given)}, which has no prompt`, 'give { prompt: "12+34=", answer: "46" }');
  for (const [name, text] of Object.entries({ answer, rejected }))
    if (text !== undefined && typeof text !== "string")
      throw invalid(`the prompt ${shown(prompt)} with ${name} ${shown(text)}`, "give a text");
  if (answer === undefined && lesson.reward === undefined)
    throw invalid(
      `the prompt ${shown(prompt)} without an answer, and has no reward`,
      "give the answer, or the lesson a reward",
    );
  return given;
}

/**
 * Tokens of the prompts. A character that the tokenizer or the model does not know, in a prompt or in an answer, is an
 * error with the lesson and the character.
 *
 * @param vocabulary Tokens that the model knows. Default: those of the tokenizer.
 */
export function encodeProblems(
  lesson: Pick<TextLesson, "name">,
  problems: readonly TextProblem[],
  tokenizer: Pick<Tokenizer, "encode" | "vocabulary">,
  vocabulary: number = tokenizer.vocabulary,
): Int32Array[] {
  const encode = (text: string): Int32Array =>
    encodeKnown(`lesson "${lesson.name}"`, text, tokenizer, vocabulary);
  return problems.map(({ prompt, answer, rejected }) => {
    for (const text of [answer, rejected]) if (text) encode(text);
    return encode(prompt);
  });
}

/** Tokens of a text; VOCABULARY_MISMATCH names the character that tokenizer or model do not know, and `where` it is. */
export function encodeKnown(
  where: string,
  text: string,
  tokenizer: Pick<Tokenizer, "encode">,
  vocabulary: number,
): Int32Array {
  /** The tokens, those that the model knows or not, or the tokenizer's error. */
  const tryEncode = (part: string) => {
    try {
      const tokens = tokenizer.encode(part);
      return { tokens, known: tokens.every((token) => token >= 0 && token < vocabulary) };
    } catch (cause) {
      return { known: false, cause };
    }
  };
  const { tokens, known, cause } = tryEncode(text);
  if (tokens && known) return tokens;
  const unknown = [...text].find((character) => !tryEncode(character).known) ?? text;
  const who = tokens ? `the model, which has ${vocabulary} tokens,` : "the tokenizer";
  throw new EspalierError(
    "VOCABULARY_MISMATCH",
    `${where}: ${who} does not know ${shown(unknown)}, which is in ${shown(text)}`,
    {
      fix: "make the tokenizer of all characters, characterTokenizer(textLessons.alphabet), and the model with its vocabulary",
      cause,
    },
  );
}

/**
 * The chance that at least one of k samples is right, where `correct` of n were: the estimate of the pass@k of one
 * problem without bias. Average it over problems.
 *
 * @example
 * ```ts
 * passAtK(10, 3, 1); // 0.3
 * passAtK(10, 3, 5); // 0.9167
 * ```
 */
export function passAtK(n: number, correct: number, k: number): number {
  checkOptions(
    "passAtK",
    { n, correct, k },
    {
      n: option.integer({ min: 1, required: true }),
      correct: option.integer({ min: 0, max: n, required: true }),
      k: option.integer({ min: 1, max: n, required: true }),
    },
  );
  // 1 - C(n - correct, k) / C(n, k), as a product that cannot overflow.
  let wrong = 1;
  for (let i = 0; i < k; i++) wrong *= Math.max(0, n - correct - i) / (n - i);
  return 1 - wrong;
}
