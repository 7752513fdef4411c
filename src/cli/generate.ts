import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { EspalierError, printableText } from "../core/index.ts";
import type { Tokenizer } from "../data/index.ts";
import { countOf, given, numberOf } from "./options.ts";
import { checkpointHelp, checkpointOf } from "./predict.ts";
import { jsonText } from "./text.ts";

interface GenerateOptions {
  readonly prompt: string;
  readonly tokens: number;
  readonly temperature: number;
  readonly topK?: number;
  readonly seed: number;
  readonly stop?: string;
  readonly tokenizer?: string;
  readonly runs: string;
  readonly engine?: "wasm" | "xla";
  readonly json?: boolean;
}

/** `espalier generate CHECKPOINT|RUN --prompt TEXT`. */
export function registerGenerate(program: Command): void {
  program
    .command("generate")
    .argument("<checkpoint|run>", checkpointHelp)
    .requiredOption("-p, --prompt <text>", "what the text begins with")
    .option(
      "--tokens <n>",
      "new tokens, at most; with the prompt they fit into the model's context",
      countOf("--tokens"),
      40,
    )
    .option(
      "--temperature <t>",
      "below 1 likely tokens get likelier; 0 takes the likeliest",
      numberOf("--temperature", 0, 100),
      1,
    )
    .option("--top-k <n>", "draw among so many of the likeliest tokens (default: all)", countOf("--top-k"))
    .option("--seed <n>", "the seed of the samples", countOf("--seed", 0), 0)
    .option("--stop <text>", "end before this text")
    .option(
      "--tokenizer <bytes|file>",
      "where the checkpoint has none: bytes, a tokenizer.json, or the text whose characters are the tokens",
    )
    .option("--runs <directory>", "where runs are", "runs")
    .addOption(new Option("--engine <name>", "where the model runs").choices(["wasm", "xla"]))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  espalier generate stories --prompt "Once upon a time" --tokens 100 --temperature 0.8
  espalier generate runs/old --tokenizer text.txt --prompt "the " --temperature 0`,
    )
    .action(async (from: string, options: GenerateOptions) => {
      const { prompt, tokens: length, temperature, topK, seed, stop, engine } = options;
      // Model and engine are needed here alone: other commands start faster without.
      const [{ loadModel }, { generate }] = await Promise.all([
        import("../supervised/index.ts"),
        import("../language/index.ts"),
      ]);
      const loaded = await loadModel(await checkpointOf(from, options.runs), given({ engine }));
      const { model, params, checkpoint } = loaded;
      const tokenizer =
        options.tokenizer === undefined ? loaded.tokenizer : await tokenizerOf(options.tokenizer);
      if (!tokenizer)
        throw new EspalierError("TOKENIZER_MISSING", `${checkpoint.path} has no tokenizer`, {
          fix: "give --tokenizer bytes, a tokenizer.json or the training text; supervisedTrainer({ tokenizer }) keeps it",
        });
      const {
        text = "",
        tokens,
        stopped,
      } = await generate(model, params, prompt, {
        length,
        temperature,
        seed,
        tokenizer,
        ...given({ topK, stop }),
      });
      if (options.json)
        console.log(jsonText({ checkpoint: checkpoint.path, prompt, text, tokens: [...tokens], stopped }));
      else console.log(printableText(prompt + text));
    });
}

async function tokenizerOf(given: string): Promise<Tokenizer> {
  const { byteTokenizer, characterTokenizer, tokenizerFromFile } = await import("../data/index.ts");
  if (given === "bytes") return byteTokenizer();
  if (given.endsWith(".json")) return tokenizerFromFile(given);
  try {
    return characterTokenizer(readFileSync(given, "utf8"));
  } catch (cause) {
    throw new EspalierError("OPTION_INVALID", `--tokenizer is "${given}", which is no text to read`, {
      fix: "give bytes, a tokenizer.json, or the text that the model was trained on",
      cause,
    });
  }
}
