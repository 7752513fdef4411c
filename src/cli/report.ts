import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { bytesText, EspalierError } from "../core/index.ts";
import { isThere, storeLocation } from "./dashboard.ts";
import { type Surroundings, thisProcess } from "./terminal.ts";

interface ReportCommandOptions {
  readonly runs: string;
  readonly store?: string;
  readonly out?: string;
  readonly force?: boolean;
}

/** `espalier report RUN`. */
export function registerReport(program: Command, around: Surroundings = thisProcess()): void {
  program
    .command("report")
    .argument("<run>", "its id, the beginning of it, or its name (the newest of that name)")
    .option("--out <file>", "where to write it (default: the run's id and .html)")
    .option("--force", "write over a file that is there")
    .option("--runs <directory>", "where runs are", "runs")
    .option(
      "--store <location>",
      "the stats store: a SQLite file or a postgres:// URL (default: $ESPALIER_STORE, or stats.db in --runs)",
    )
    .addHelpText(
      "after",
      `
The file has everything in it: curves, evaluations, hooks, log, checkpoints, replays. It opens in any browser, without a
network.

Examples:
  espalier report cartpole
  espalier report cartpole-20260131-120000-a1b2c3 --out cartpole.html`,
    )
    .action((run: string, options: ReportCommandOptions) => report(run, options, around));
}

async function report(run: string, options: ReportCommandOptions, around: Surroundings): Promise<void> {
  const location = storeLocation(options, around.env);
  if (!isThere(location))
    throw new EspalierError("STATS_MISSING", `there is no stats store ${location}`, {
      fix: "give the directory of runs as --runs, or the store that they were told to file in as --store",
    });
  const store = await around.openStore(location);
  try {
    const { id } = await store.run(run);
    const file = options.out ?? join(".", `${id}.html`);
    if (existsSync(file) && !options.force)
      throw new EspalierError("EXPORT_EXISTS", `${file} is there already`, {
        fix: "give another --out, or --force to write over it",
      });
    const { makeReport } = await import("../dashboard/index.ts");
    const text = await makeReport(id, { store, directory: options.runs });
    writeFileSync(file, text);
    await around.out.write(`wrote ${file} (${bytesText(Buffer.byteLength(text))})\n`);
  } finally {
    await store.close();
  }
}
