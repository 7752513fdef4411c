import { option, resolveOptions, type Settings } from "../core/index.ts";
import { hostRandom } from "../engine/index.ts";
import { Stream } from "../random/index.ts";
import { Dataset } from "./dataset.ts";
import type { ImageExample } from "./images.ts";

// Small sets for examples and tests, made of a seed: no file, no download, the same everywhere.

const streamOf = (seed: number, index: number): Stream =>
  new Stream("generated", hostRandom.hostFoldIn(hostRandom.hostKey(seed), index));

/** The digits in 5 columns and 7 rows, each row in five bits. */
const digits = [
  [14, 17, 19, 21, 25, 17, 14],
  [4, 12, 4, 4, 4, 4, 14],
  [14, 17, 1, 2, 4, 8, 31],
  [31, 2, 4, 2, 1, 17, 14],
  [2, 6, 10, 18, 31, 2, 2],
  [31, 16, 30, 1, 1, 17, 14],
  [6, 8, 16, 30, 17, 17, 14],
  [31, 1, 2, 4, 8, 8, 8],
  [14, 17, 17, 14, 17, 17, 14],
  [14, 17, 17, 15, 1, 2, 12],
] as const;

const glyphTable = {
  count: option.integer({ min: 1, default: 1000 }),
  size: option.integer({ min: 8, default: 12 }),
  seed: option.integer({ min: 0, default: 0 }),
};

/**
 * Images of the ten digits, somewhere in the image, larger or smaller, brighter or darker, with noise.
 *
 * @example
 * ```ts
 * const { train, validation } = glyphs({ count: 2000 }).split({ train: 0.8, validation: 0.2 });
 * ```
 */
export function glyphs(options: Partial<Settings<typeof glyphTable>> = {}): Dataset<ImageExample> {
  const { count, size, seed } = resolveOptions("glyphs", options, glyphTable);
  return new Dataset<ImageExample>({
    name: "glyphs",
    length: count,
    recipe: { kind: "glyphs", args: [{ count, size, seed }] },
    get: (index) => {
      const random = streamOf(seed, index);
      const digit = index % digits.length;
      const scale = (size / 8) * (0.8 + 0.2 * random.uniform());
      const [left, top] = [random.uniform() * (size - 5 * scale), random.uniform() * (size - 7 * scale)];
      const light = 0.6 + 0.4 * random.uniform();
      const noise = hostRandom.hostUniform(random.key(), size * size);
      const data = noise.map((n, i) => {
        const column = Math.floor(((i % size) + 0.5 - left) / scale);
        const row = Math.floor((Math.floor(i / size) + 0.5 - top) / scale);
        const bits = column >= 0 && column < 5 ? (digits[digit]?.[row] ?? 0) : 0;
        return ((bits >> (4 - column)) & 1) * light + 0.3 * (n - 0.5) * light;
      });
      return { x: { data, shape: [size, size, 1] }, y: { data: Int32Array.of(digit), shape: [] } };
    },
  });
}

const languageTable = {
  characters: option.integer({ min: 1, default: 10_000 }),
  seed: option.integer({ min: 0, default: 0 }),
};

const words = {
  article: ["the", "a", "every", "no"],
  adjective: ["red", "small", "old", "quiet", "brave", "round"],
  noun: ["fox", "bird", "king", "child", "river", "stone"],
  verb: ["sees", "follows", "finds", "fears", "calls"],
};

/**
 * A text of short sentences, all of one form: "the old fox sees a small bird."
 *
 * @example
 * ```ts
 * const text = toyLanguage({ characters: 50_000 });
 * const tokenizer = characterTokenizer(text);
 * ```
 */
export function toyLanguage(options: Partial<Settings<typeof languageTable>> = {}): string {
  const { characters, seed } = resolveOptions("toyLanguage", options, languageTable);
  let text = "";
  for (let sentence = 0; text.length < characters; sentence++) {
    const random = streamOf(seed, sentence);
    const pick = (kind: keyof typeof words): string =>
      words[kind][random.integer(words[kind].length)] as string;
    const thing = (): string =>
      [pick("article"), ...(random.uniform() < 0.5 ? [pick("adjective")] : []), pick("noun")].join(" ");
    text += `${thing()} ${pick("verb")} ${thing()}.\n`;
  }
  return text.slice(0, characters);
}

/** A row of {@link tabular}. */
export interface TabularRow {
  readonly age: number;
  readonly income: number;
  readonly city: string;
  readonly member: boolean;
  readonly bought: string;
}

const tabularTable = {
  rows: option.integer({ min: 1, default: 1000 }),
  seed: option.integer({ min: 0, default: 0 }),
};

/**
 * Rows about customers with numbers, texts and booleans, and what they `bought`, which follows from the others: "yes" or
 * "no", one in twenty at random.
 *
 * @example
 * ```ts
 * tabular().get(0); // { age: 53, income: 38_112, city: "Rome", member: false, bought: "no" }
 * ```
 */
export function tabular(options: Partial<Settings<typeof tabularTable>> = {}): Dataset<TabularRow> {
  const { rows, seed } = resolveOptions("tabular", options, tabularTable);
  const cities = ["Lima", "Oslo", "Rome"];
  return new Dataset<TabularRow>({
    name: "tabular",
    length: rows,
    recipe: { kind: "tabular", args: [{ rows, seed }] },
    get: (index) => {
      const random = streamOf(seed, index);
      const age = 18 + random.integer(60);
      const income = 15_000 + random.integer(80_000);
      const city = random.integer(cities.length);
      const member = random.uniform() < 0.3;
      const score = (age - 48) / 30 + (income - 55_000) / 40_000 + 0.5 * (1 - city) + (member ? 0.6 : -0.2);
      const bought = random.uniform() < 0.05 ? random.uniform() < 0.5 : score > 0;
      return { age, income, city: cities[city] as string, member, bought: bought ? "yes" : "no" };
    },
  });
}
