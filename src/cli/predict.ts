import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import type { Command } from "commander";
import { EspalierError, printableText } from "../core/index.ts";
import type { PredictInput } from "../supervised/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { checkFree } from "./terminal.ts";
import { jsonText } from "./text.ts";

const predictOptions = {
  input: option.text(
    "<file>",
    "rows: .csv, or .jsonl with an object or a list of numbers in each line; - is the standard input",
    { short: "i", required: true },
  ),
  output: option.text(
    "<file>",
    "write the rows with the column prediction: .csv or .jsonl (default: print the predictions)",
    { short: "o" },
  ),
  force: option.force(),
  which: option.which(),
  runs: option.runs(),
  engine: option.engine("where the model runs"),
  json: option.json(),
};

export function registerPredict(program: Command): void {
  withOptions(program.command("predict"), predictOptions)
    .argument("<checkpoint|run>", checkpointHelp)
    .addHelpText(
      "after",
      `
Rows go through the transform that was fitted in training; columns that it does not know are left alone.

Examples:
  espalier predict customers --input new.csv
  espalier predict runs/iris --which best --input new.csv --output predicted.csv
  echo '{"age":70,"income":90000,"city":"Lima","member":true}' | espalier predict customers --input -`,
    )
    .action(async (from: string, given: Values<typeof predictOptions>) => {
      const { input, output, force, runs, json, ...model } = given;
      if (output !== undefined) {
        formatOf("--output", output);
        checkFree(output, force);
      }
      // Model and engine are needed here alone: other commands start faster without.
      const { loadModel } = await import("../supervised/index.ts");
      const rows = await rowsOf(input);
      const { checkpoint, predict } = await loadModel(await checkpointOf(from, runs), model);
      const predictions = (await predict(rows)).map(plain);
      if (output !== undefined) writeFileSync(output, rowsText(rows, predictions, output));
      if (json) console.log(jsonText({ checkpoint: checkpoint.path, output, predictions }));
      else if (output !== undefined) console.log(`${predictions.length} predictions in ${output}`);
      else for (const one of predictions) console.log(printableText(cellOf(one)));
    });
}

/** The help of an argument that {@link checkpointOf} takes. */
export const checkpointHelp =
  "a checkpoint, a directory of checkpoints, or a run: its directory, id or name; of several checkpoints the newest";

/** The address of a checkpoint or of a directory of them; of a run's directory, id or name its checkpoints. */
export const checkpointOf = (from: string, runs: string): Promise<string> => inRun(from, runs, "checkpoints");

/** A path or an address as it is; of a run's directory, id or name the `part` of its directory. */
export async function inRun(from: string, runs: string, part: string): Promise<string> {
  const isRun = existsSync(join(from, "run.json"));
  if (!isRun && (existsSync(from) || /^[a-z][a-z0-9]+:/i.test(from))) return from;
  const { findRunDirectory } = await import("../config/index.ts");
  return join(findRunDirectory(from, runs), part);
}

type Format = "csv" | "jsonl";

function formatOf(option: string, file: string): Format {
  const kind = extname(file).toLowerCase();
  if (kind === ".csv") return "csv";
  if ([".jsonl", ".ndjson"].includes(kind)) return "jsonl";
  throw new EspalierError("OPTION_INVALID", `${option} is "${file}"`, {
    fix: "name a file that ends in .csv or .jsonl",
  });
}

async function rowsOf(input: string): Promise<readonly PredictInput[]> {
  const { csv, jsonl } = await import("../data/index.ts");
  const read = async (file: string, format: Format): Promise<readonly PredictInput[]> => {
    const rows: PredictInput[] = [];
    for await (const row of format === "csv" ? csv(file) : jsonl(file)) rows.push(row as PredictInput);
    return rows;
  };
  if (input !== "-") return read(input, formatOf("--input", input));
  const directory = mkdtempSync(join(tmpdir(), "espalier-predict-"));
  try {
    const given = await textOf(process.stdin);
    const file = join(directory, "standard input");
    writeFileSync(file, given);
    return await read(file, /^\s*[[{]/.test(given) ? "jsonl" : "csv");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Typed arrays as lists. */
const plain = (value: unknown): unknown => {
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
};

const cellOf = (value: unknown): string =>
  typeof value === "object" ? jsonText(value, 0) : String(value ?? "");

function rowsText(rows: readonly PredictInput[], predictions: readonly unknown[], file: string): string {
  const all = rows.map((row, i): Readonly<Record<string, unknown>> => {
    const named = typeof row === "object" && !Array.isArray(row) ? row : { input: row };
    return { ...named, prediction: predictions[i] };
  });
  if (formatOf("--output", file) === "jsonl") return all.map((row) => `${jsonText(row, 0)}\n`).join("");
  const names = [...new Set(all.flatMap((row) => Object.keys(row)))];
  const quoted = (value: unknown): string => {
    const cell = cellOf(value);
    return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  };
  return [names, ...all.map((row) => names.map((name) => row[name]))]
    .map((cells) => `${cells.map(quoted).join(",")}\n`)
    .join("");
}
