import {
  badOption,
  EspalierError,
  messageOf,
  node,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../core/index.ts";
import type { StateTree } from "../state/index.ts";
import { checkArgument, type Dataset } from "./dataset.ts";
import { absolutePath, DataFile } from "./text-files.ts";

/** Turns texts into tokens and back. */
export interface Tokenizer {
  encode(text: string): Int32Array;
  decode(tokens: ArrayLike<number>): string;
  /** The number of tokens there are. */
  readonly vocabulary: number;
  /** Plain values from which {@link tokenizerFrom} makes it again. */
  readonly recipe: StateTree;
}

/**
 * Characters as tokens: those of a text, sorted.
 *
 * @example
 * ```ts
 * const tokenizer = characterTokenizer("hello world");
 * tokenizer.decode(tokenizer.encode("hold")); // "hold"
 * ```
 */
export function characterTokenizer(text: string): Tokenizer {
  checkArgument(typeof text === "string" && text !== "", "characterTokenizer", text, "the training text");
  const characters = [...new Set(text)].sort();
  const numbers = new Map(characters.map((character, i) => [character, i]));
  return {
    vocabulary: characters.length,
    recipe: { kind: "characters", characters: characters.join("") },
    encode: (given) =>
      Int32Array.from(given, (character, at) => {
        const token = numbers.get(character);
        if (token !== undefined) return token;
        throw new EspalierError(
          "TOKEN_UNKNOWN",
          `character ${at}, ${shown(character)}, was not in the training text`,
          { fix: "make the tokenizer of a text with all characters, or use byteTokenizer()" },
        );
      }),
    decode: (tokens) =>
      Array.from(tokens, (token) => characters[checkToken(token, characters.length)]).join(""),
  };
}

function checkToken(token: number, vocabulary: number): number {
  if (Number.isInteger(token) && token >= 0 && token < vocabulary) return token;
  throw new EspalierError("TOKEN_UNKNOWN", `${token} is no token of the ${vocabulary} there are`, {
    fix: "use the tokenizer that the model was trained with",
  });
}

/** The bytes of UTF-8 as tokens: 256 of them, for any text. */
export const byteTokenizer = (): Tokenizer => ({
  vocabulary: 256,
  recipe: { kind: "bytes" },
  encode: (text) => Int32Array.from(new TextEncoder().encode(text)),
  decode: (tokens) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      Uint8Array.from(tokens, (token) => checkToken(token, 256)),
    ),
});

/**
 * The tokenizer of a tokenizer.json file, as Hugging Face's libraries save it, with tokenizer_config.json where it lies
 * beside it. As there, `encode` adds the special tokens that the file says, and `decode` leaves them out.
 *
 * @example
 * ```ts
 * const tokenizer = await tokenizerFromFile("gpt2/tokenizer.json");
 * ```
 */
export async function tokenizerFromFile(path: string | URL): Promise<Tokenizer> {
  const text = (file: string): string => node.fs.readFileSync(file, "utf8");
  const { path: file } = new DataFile(path);
  const config = node.path.join(node.path.dirname(file), "tokenizer_config.json");
  return fromJson(file, text(file), node.fs.existsSync(config) ? text(config) : "{}");
}

async function fromJson(name: string, json: string, config: string): Promise<Tokenizer> {
  const { Tokenizer: Made } = await import("@huggingface/tokenizers");
  try {
    const made = new Made(JSON.parse(json) as object, JSON.parse(config) as object);
    const vocabulary = Math.max(...made.get_vocab().values()) + 1;
    return {
      vocabulary,
      recipe: { kind: "tokenizer.json", json, config },
      encode: (text) => Int32Array.from(made.encode(text).ids),
      decode: (tokens) =>
        made.decode(
          Array.from(tokens, (token) => checkToken(token, vocabulary)),
          { skip_special_tokens: true },
        ),
    };
  } catch (cause) {
    throw new EspalierError("DATA_CORRUPT", `${name} is no tokenizer that can be read: ${messageOf(cause)}`, {
      fix: "give a tokenizer.json as Hugging Face's libraries save it",
      cause,
    });
  }
}

/** The tokenizer that a recipe describes, in a program that does not have its text or file. */
export async function tokenizerFrom(recipe: StateTree): Promise<Tokenizer> {
  const { kind, characters, json, config } = (recipe ?? {}) as Readonly<Record<string, StateTree>>;
  if (kind === "characters") return characterTokenizer(String(characters));
  if (kind === "bytes") return byteTokenizer();
  if (kind === "tokenizer.json") return fromJson("the recipe", String(json), String(config));
  throw new EspalierError("DATA_INVALID", `${shown(recipe)} is no recipe of a tokenizer`, {
    fix: "give the recipe of a tokenizer: tokenizer.recipe",
  });
}

const writeTable = {
  /** The type of the tokens in the file. Default: "u16" where the vocabulary fits it, otherwise "u32". */
  dtype: option.oneOf(["u16", "u32"], {}),
  /** Text behind each of the texts. Default: a line end, which the lines of a file have lost. */
  end: option.made<string>("a text", (value) => typeof value === "string", { default: "\n" }),
};

/**
 * Writes the tokens of texts into a file for `tokenFile`, one text at a time, and gives their number and type.
 *
 * @example
 * ```ts
 * const { dtype } = await writeTokens("stories.tokens", textFile("stories.txt"), tokenizer);
 * const train = tokenFile("stories.tokens", { dtype, window: 128 });
 * ```
 */
export async function writeTokens(
  path: string | URL,
  texts: Dataset<string> | AsyncIterable<string> | Iterable<string>,
  tokenizer: Tokenizer,
  options: Options<typeof writeTable> = {},
): Promise<{ readonly tokens: number; readonly dtype: "u16" | "u32" }> {
  const settings = resolveOptions("writeTokens", options, writeTable);
  const { vocabulary } = tokenizer;
  const { dtype = vocabulary <= 2 ** 16 ? "u16" : "u32", end } = settings;
  if (dtype === "u16" && vocabulary > 2 ** 16)
    throw badOption("writeTokens", `${vocabulary} tokens do not fit u16`, 'use dtype: "u32"');
  const file = absolutePath(path);
  const unfinished = `${file}.unfinished`;
  const { open, rename, rm } = node.fs.promises;
  const failed = (cause: unknown): never => {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new EspalierError("FILE_FAILED", `writeTokens: ${messageOf(cause)}`, {
      fix: "give the path of a file that can be written, in a directory that is there, or make room on the disk",
      cause,
    });
  };
  // A device or a directory would be replaced.
  checkArgument(
    node.fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== false,
    "writeTokens",
    file,
    "the path of a regular file",
  );
  const handle = await open(unfinished, "w").catch(failed);
  let tokens = 0;
  try {
    for await (const text of texts) {
      checkArgument(
        typeof text === "string",
        "writeTokens",
        text,
        "texts, such as the lines of textFile(path)",
      );
      const encoded = tokenizer.encode(text + end).map((token) => checkToken(token, vocabulary));
      const numbers = dtype === "u16" ? Uint16Array.from(encoded) : Uint32Array.from(encoded);
      // Unlike write, which may write a part.
      await handle.writeFile(new Uint8Array(numbers.buffer));
      tokens += encoded.length;
    }
    await handle.close();
    await rename(unfinished, file);
  } catch (error) {
    await handle.close();
    await rm(unfinished);
    failed(error);
  }
  return { tokens, dtype };
}
