import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { EspalierError, printableText } from "../core/index.ts";
import type { Tokenizer } from "../data/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { checkpointHelp, checkpointOf } from "./predict.ts";
import { jsonText } from "./text.ts";

const generateOptions = {
  prompt: option.text("<text>", "what the text begins with", { short: "p", required: true }),
  tokens: option.count("<n>", "new tokens, at most; with the prompt they fit into the model's context", {
    default: 40,
  }),
  temperature: option.number("<t>", "below 1 likely tokens get likelier; 0 takes the likeliest", {
    min: 0,
    max: 100,
    default: 1,
  }),
  topK: option.count("<n>", "draw among so many of the likeliest tokens (default: all)"),
  seed: option.count("<n>", "the seed of the samples", { min: 0, default: 0 }),
  stop: option.text("<text>", "end before this text"),
  tokenizer: option.text(
    "<bytes|file>",
    "where the checkpoint has none: bytes, a tokenizer.json, or the text whose characters are the tokens",
  ),
  runs: option.runs(),
  engine: option.engine("where the model runs"),
  json: option.json(),
};

export function registerGenerate(program: Command): void {
  withOptions(program.command("generate"), generateOptions)
    .argument("<checkpoint|run>", checkpointHelp)
    .addHelpText(
      "after",
      `
Examples:
  espalier generate stories --prompt "Once upon a time" --tokens 100 --temperature 0.8
  espalier generate runs/old --tokenizer text.txt --prompt "the " --temperature 0`,
    )
    .action(async (from: string, given: Values<typeof generateOptions>) => {
      const { prompt, tokens: length, tokenizer: named, runs, engine, json, ...sampling } = given;
      // Model and engine are needed here alone: other commands start faster without.
      const [{ loadModel }, { generate }] = await Promise.all([
        import("../supervised/index.ts"),
        import("../language/index.ts"),
      ]);
      const loaded = await loadModel(await checkpointOf(from, runs), { ...(engine && { engine }) });
      const { model, params, checkpoint } = loaded;
      const tokenizer = named === undefined ? loaded.tokenizer : await tokenizerOf(named);
      if (!tokenizer)
        throw new EspalierError("TOKENIZER_MISSING", `${checkpoint.path} has no tokenizer`, {
          fix: "give --tokenizer bytes, a tokenizer.json or the training text; supervisedTrainer({ tokenizer }) keeps it",
        });
      const written = await generate(model, params, prompt, { length, tokenizer, ...sampling });
      const { text = "", tokens, stopped } = written;
      if (json)
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
