import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { bytesText } from "../core/index.ts";
import { runsOptions, storeLocation } from "./dashboard.ts";
import { option, type Values, withOptions } from "./options.ts";
import { checkFree, type Surroundings, thisProcess } from "./terminal.ts";

const reportOptions = {
  ...runsOptions,
  out: option.text("<file>", "where to write it (default: the run's id and .html)"),
  force: option.force(),
};
type ReportCommandOptions = Values<typeof reportOptions>;

export function registerReport(program: Command, around: Surroundings = thisProcess()): void {
  withOptions(program.command("report"), reportOptions)
    .argument("<run>", "its id, the beginning of it, or its name (the newest of that name)")
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

async function report(run: string, options: ReportCommandOptions, { env, out }: Surroundings): Promise<void> {
  const { makeReport } = await import("../dashboard/index.ts");
  const store = storeLocation(options, env);
  const { id, text } = await makeReport(run, { store, directory: options.runs });
  const file = options.out ?? join(".", `${id}.html`);
  checkFree(file, options.force);
  writeFileSync(file, text);
  await out.write(`wrote ${file} (${bytesText(Buffer.byteLength(text))})\n`);
}
