import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { EspalierError } from "../../core/index.ts";
import type { TrainerOptions, TrainingSetup } from "../../trainer/index.ts";

/** Imports a file and makes the training set-up that it exports: `setup`, or its default export. */
export async function loadSetup(file: string): Promise<TrainerOptions> {
  const exports = await importFile(file);
  const setup = exports.setup ?? exports.default;
  if (typeof setup !== "function")
    throw invalid(
      setup === undefined
        ? `${file} exports no "setup" (it exports ${Object.keys(exports).join(", ") || "nothing"})`
        : `the export "setup" of ${file} is not a function`,
    );
  const options: unknown = await (setup as TrainingSetup)();
  if (typeof options !== "object" || options === null || !("task" in options))
    throw invalid(`the set-up of ${file} gives no task`);
  return options as TrainerOptions;
}

async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  } catch (cause) {
    if (cause instanceof EspalierError) throw cause;
    throw new EspalierError(
      "SETUP_FAILED",
      `${file} could not be imported: ${cause instanceof Error ? cause.message : String(cause)}`,
      { fix: "run the file by itself to see where it fails", cause },
    );
  }
}

const invalid = (what: string): EspalierError =>
  new EspalierError("SETUP_INVALID", what, {
    fix: "write: export const setup: TrainingSetup = () => ({ task, config: { epochs: 6 }, hooks })",
  });
