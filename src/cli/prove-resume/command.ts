import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { EspalierError, printableText, tableLines } from "../../core/index.ts";
import { firstText } from "../checkpoint/diff.ts";
import { countIn, option, type Values, withOptions } from "../options.ts";
import { programFor, type Self, thisProgram } from "../run-again.ts";
import { statusLine } from "../terminal.ts";
import { ranByLoader } from "../train.ts";
import { failedMessage, type PartMessage, type PartRequest } from "./process.ts";
import { type DoneKill, type Proof, proveResume } from "./prove.ts";

const proveOptions = {
  runs: option.runs(),
  epochs: option.count("<n>", "epochs in all, instead of the set-up's"),
  killAt: {
    takes: "<batches>",
    does: "kill after these batches, such as 40 or 10,25; else in the middle of an epoch",
    read: (text: string, flag: string): readonly number[] | undefined =>
      text.split(",").map((batch) => countIn(batch, flag)),
  },
  engine: option.engine("train on this engine"),
  deterministic: option.flag("ask for kernels that give the same bits each time, as GPUs need it"),
  keep: option.text("<directory>", "keep checkpoints and end states there; it must be empty"),
  json: option.json(),
};
type ProveOptions = Values<typeof proveOptions>;

export function registerProveResume(program: Command, self: Self = thisProgram()): void {
  withOptions(program.command("prove-resume"), proveOptions)
    .argument(
      "<file>",
      "exports a training set-up (export const setup: TrainingSetup = () => ({ task, config })); or a run of espalier train: its directory, its id, the beginning of it, or its name",
    )
    .addHelpText(
      "after",
      `
Of a run its own configuration is trained from the beginning, and what it was told from outside is done again at the
same batches. Exit code 0: the same, bit for bit. 1: they differ, or it failed.

Examples:
  espalier prove-resume setup.ts --kill-at 40
  espalier prove-resume runs/cartpole-20260131-120000-a1b2c3 --epochs 3`,
    )
    .action(async (file: string, options: ProveOptions) => {
      const proof = await prove(file, options, self);
      if (!proof) return;
      console.log(options.json ? JSON.stringify(proof, null, 2) : printableText(proofText(proof)));
      if (!proof.exact) process.exitCode = 1;
    });

  program
    .command("prove-resume-part", { hidden: true })
    .description("train one part of a proof in this process")
    .argument("<request>", "JSON")
    .action(async (request: string) => {
      const tell = (message: PartMessage): void => void process.send?.(message);
      // Without its parent a process that waits would never end.
      const orphaned = (): never => process.exit(1);
      process.on("disconnect", orphaned);
      try {
        // Trainer and engine are needed here alone.
        const { runPart } = await import("./part.ts");
        await runPart(JSON.parse(request) as PartRequest, tell);
      } catch (error) {
        tell(failedMessage(error));
        process.exitCode = 1;
      }
      process.off("disconnect", orphaned);
      process.disconnect?.();
    });
}

/** Undefined where the whole command ran in another process. */
async function prove(from: string, options: ProveOptions, self: Self): Promise<Proof | undefined> {
  const { runs, keep, json: _, ...asked } = options;
  if (/\.(ya?ml|json)$/i.test(from) && isFile(from))
    throw new EspalierError("SETUP_INVALID", `${from} is a configuration, and a run of it is proved`, {
      fix: `train it (espalier train ${from}), and give the run's name`,
    });
  const isRun = !/\.[cm]?[jt]sx?$/i.test(from) && !isFile(from);
  let file = from;
  if (isRun) {
    const { findRunDirectory, readRecord } = await import("../../config/index.ts");
    file = findRunDirectory(from, runs);
    if (await ranByLoader(resolve(file, readRecord(file).source))) return undefined;
  }
  const program = isRun ? self : programFor(file, self);
  const directory =
    keep === undefined ? mkdtempSync(join(tmpdir(), "espalier-prove-")) : emptyDirectory(keep);
  const status = statusLine(process.stderr);
  try {
    return await proveResume({
      file: resolve(file),
      isRun,
      directory,
      program,
      say: status.say,
      ...asked,
    });
  } finally {
    status.end();
    if (keep === undefined) rmSync(directory, { recursive: true, force: true });
  }
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Refuses a file and a directory with files: resuming from an earlier proof would prove nothing. */
function emptyDirectory(path: string): string {
  const full = resolve(path);
  const file = isFile(full);
  if (!existsSync(full) || (!file && readdirSync(full).length === 0)) return full;
  throw new EspalierError("DIRECTORY_NOT_EMPTY", `${path} is ${file ? "a file" : "not empty"}`, {
    fix: "give a new directory to --keep",
  });
}

function proofText({ engine, epochs, batches, kills, components, differences, exact }: Proof): string {
  const rows = components.map(({ name, hashes: [a, b] }) => [
    name,
    hashText(a),
    hashText(b),
    a === b ? "same" : "DIFFERENT",
  ]);
  const wrong = components.filter(({ hashes: [a, b] }) => a !== b).length;
  return [
    `on ${engine}: ${epochs} epochs, ${batches} batches in one go`,
    ...kills.map((kill) => killText(kill, epochs)),
    "",
    ...tableLines([["component", "in one go", "resumed", ""], ...rows]),
    "",
    exact
      ? `the resumed run equals the one in one go, bit for bit, in all ${components.length} parts`
      : `NOT THE SAME: ${wrong} of ${components.length} parts differ; first difference: ${firstText(differences)}`,
  ].join("\n");
}

const killText = (
  { at, epoch, before, after, pid, checkpoint, resumedAt }: DoneKill,
  epochs: number,
): string =>
  `SIGKILL to process ${pid} after batch ${at} (${before} of ${before + after} in epoch ${epoch + 1} of ${epochs}); resumed from ${checkpoint}, batch ${resumedAt}`;

const hashText = (hash: string | undefined): string => hash?.slice(0, 16) ?? "missing";
