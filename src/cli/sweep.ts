import { basename } from "node:path";
import type { Command } from "commander";
import type { MemberResult, PlannedSweep, Sweep, SweepMember, Trial } from "../config/index.ts";
import { amountText, EspalierError, errorText, numberText, printable } from "../core/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { callName, type Self, startChild, thisProgram } from "./run-again.ts";
import { statusLine, styleFor, thisProcess } from "./terminal.ts";
import { headedTable, jsonText } from "./text.ts";
import { overridesOf, ranByLoader } from "./train.ts";

const sweepOptions = {
  set: option.set(),
  trials: option.count("<n>", "how many combinations are tried (default: 20; of a grid, all)", {
    max: 10_000,
  }),
  method: option.oneOf("<name>", ["grid", "random", "halving"], "how they are chosen"),
  metric: option.text("<key>", "what is compared, as validation/loss: the last value of a run"),
  direction: option.oneOf("<way>", ["minimize", "maximize"], "which is better"),
  seeds: option.count("<n>", "runs of each combination, with seeds of their own", { max: 1000 }),
  parallel: option.count("<n>", "runs at once, each in a process of its own", { max: 256, default: 1 }),
  engine: option.engine("train on this engine"),
  resume: option.flag("go on with the newest sweep of this configuration"),
  json: option.json("print all trials as JSON"),
};
type SweepCommandOptions = Values<typeof sweepOptions>;

type MemberMessage = { readonly result: MemberResult } | { readonly failed: string };

export function registerSweep(program: Command): void {
  withOptions(program.command("sweep"), sweepOptions)
    .argument("<file>", "a configuration with a member sweep: { metric, parameters }")
    .addHelpText(
      "after",
      `
The configuration says what is tried; --set changes other values:
  sweep:
    metric: validation/loss
    method: halving            # grid, random (the default), or halving: the best third goes on at each rung
    trials: 20
    parameters:
      task.learningRate: { from: 1e-5, to: 1e-2, scale: log }
      task.batchSize: [16, 32, 64]

Ctrl-C pauses the runs under way with checkpoints: --resume goes on exactly there. The sweep's directory has
trials.json, and optuna.log, which Optuna's JournalStorage reads.
Exit codes: 0 done, 1 where no trial succeeded, 130 interrupted.

Examples:
  espalier sweep run.yaml
  espalier sweep run.yaml --trials 27 --method halving --parallel 4
  espalier sweep run.yaml --resume`,
    )
    .action(async (file: string, options: SweepCommandOptions) => {
      if (await ranByLoader(file)) return;
      const { planSweep } = await import("../config/index.ts");
      const { set, engine, parallel, json, resume, ...changes } = options;
      const planned = await planSweep(file, overridesOf(options), changes, resume);
      await sweepWith(planned, options, file);
    });

  program
    .command("sweep-run", { hidden: true })
    .description("train one run of a sweep in this process")
    .argument("<member>", "JSON")
    .action(async (member: string) => {
      // A message of the parent asks for an end, and so does its death.
      const ended = new AbortController();
      for (const event of ["message", "disconnect"]) process.on(event, () => ended.abort());
      const tell = (message: MemberMessage): void => {
        if (process.connected) process.send?.(message, () => process.disconnect());
      };
      try {
        const { trainMember } = await import("../config/index.ts");
        tell({ result: await trainMember(JSON.parse(member) as SweepMember, ended.signal) });
      } catch (error) {
        tell({ failed: error instanceof EspalierError ? errorText(error) : String(error) });
        process.exitCode = 1;
      }
    });
}

async function sweepWith(
  planned: PlannedSweep,
  { parallel, json }: SweepCommandOptions,
  file: string,
): Promise<void> {
  const { ranked, runSweep } = await import("../config/index.ts");
  const self = thisProgram();
  const { interrupts } = thisProcess();
  const interrupt = interrupts(["SIGINT", "SIGTERM", "SIGHUP"]);
  const status = statusLine(process.stderr);
  const { trials } = planned.sweep;
  if (!json) console.log(`${planned.sweep.id}\n  ${planned.directory}`);
  let sweep: Sweep;
  try {
    sweep = await runSweep(planned, {
      parallel,
      signal: interrupt.signal,
      train: (member) => trainInProcess(self, member, interrupt.signal),
      onChange: (_, what) => status.say(`${what} (${amountText(trials.length, "trials")})`),
    });
  } finally {
    status.end();
    interrupt.stop();
  }
  const isOver = sweep.trials.every(({ state }) => state !== "waiting" && state !== "running");
  const all = ranked(sweep.trials, sweep.options.direction);
  const best = all.filter(({ state }) => state === "complete");
  const order = new Set([...best, ...all, ...sweep.trials]);
  if (json) {
    const { id, options, trials } = sweep;
    const { metric, direction } = options;
    console.log(jsonText({ id, directory: planned.directory, metric, direction, best: best[0], trials }));
  } else for (const line of tableOf(sweep, [...order])) console.log(line);
  if (!isOver) {
    console.error(`interrupted; next: ${callName(self)} sweep ${file} --resume, with the same options`);
    process.exitCode = 130;
  } else if (best.length === 0)
    throw new EspalierError("SWEEP_FAILED", `no trial succeeded: ${sweep.trials[0]?.error ?? ""}`, {
      fix: "train the configuration by itself to see what is wrong",
    });
}

function tableOf({ options }: Sweep, trials: readonly Trial[]): readonly string[] {
  const { colors } = styleFor(thisProcess().out, process.env, false);
  const names = Object.keys(options.parameters);
  const shown = (value: unknown): string =>
    typeof value === "number" ? numberText(value) : printable(JSON.stringify(value) ?? "", 40);
  const rows = trials.map(({ number, values, value, state, rungs, members, error }) => [
    String(number),
    ...names.map((name) => shown(values[name])),
    value === undefined ? "" : numberText(value, { digits: 6 }),
    state === "pruned" ? `ended after ${amountText(Number(Object.keys(rungs).at(-1)), "epochs")}` : state,
    error === undefined ? basename(members[0]?.run ?? "") : printable(error.split("\n")[0] ?? "", 80),
  ]);
  return headedTable(["trial", ...names, options.metric, "state", "run"], rows, colors);
}

/**
 * Trains a run in a process of its own, so that a crash is the failure of one trial. It is in a group of its own: Ctrl-C
 * reaches this process alone, which tells it, and the run is paused with a checkpoint.
 */
async function trainInProcess(self: Self, member: SweepMember, signal: AbortSignal): Promise<MemberResult> {
  const { child, messages, gone, output } = startChild<MemberMessage>(self, "sweep-run", member, {
    detached: true,
  });
  const end = (): void => {
    if (child.connected) child.send("end", () => undefined); // One that has just ended needs to hear nothing.
  };
  signal.addEventListener("abort", end);
  const how = await gone;
  signal.removeEventListener("abort", end);
  const [told] = messages;
  if (told && "result" in told) return told.result;
  throw new Error(told?.failed ?? `its process ended (${how})\n${output()}`);
}
