import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { bytesText } from "../core/index.ts";
import { runsOptions } from "./dashboard.ts";
import { option, type Values, withOptions } from "./options.ts";
import { withStore } from "./runs/command.ts";
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

function report(run: string, options: ReportCommandOptions, around: Surroundings): Promise<void> {
  return withStore(options, around, async (store) => {
    const { id } = await store.run(run);
    const file = options.out ?? join(".", `${id}.html`);
    checkFree(file, options.force);
    const { makeReport } = await import("../dashboard/index.ts");
    const text = await makeReport(id, { store, directory: options.runs });
    writeFileSync(file, text);
    await around.out.write(`wrote ${file} (${bytesText(Buffer.byteLength(text))})\n`);
  });
}
