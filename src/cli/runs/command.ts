import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { countText, EspalierError, printable } from "../../core/index.ts";
import type { HookDecisions, StatsStore } from "../../metrics/index.ts";
import { runsOptions, storeLocation } from "../dashboard.ts";
import { type CommandOptions, given, option, type Values, withOptions } from "../options.ts";
import { type Style, type Surroundings, styleFor, thisProcess } from "../terminal.ts";
import { headedTable, jsonText } from "../text.ts";
import { compareText, readComparison } from "./compare.ts";
import { exportOptions, exportRun } from "./export.ts";
import { listOptions, listRuns, listText } from "./list.ts";
import { readShown, shownJson, showText } from "./show.ts";
import { tail, tailOptions } from "./tail.ts";

type StoreValues = Values<typeof runsOptions>;
const compareOptions = { ...runsOptions, metric: option.metrics(), json: option.json() };
const showOptions = { ...compareOptions, ascii: option.flag("draw with plain letters") };
const whyOptions = {
  ...runsOptions,
  at: option.number("<step>", "what is known of this step alone", { min: 0 }),
  json: option.json(),
};

const RUN = "its id, the beginning of it, its name (the newest of that name), or its directory";

/** The id of a run, or what else names it; of one that is named by its directory, the store that it has. */
async function placeOf(asked: string): Promise<{ readonly id: string; readonly store?: string }> {
  if (!existsSync(join(asked, "run.json"))) return { id: asked };
  const { readRecord } = await import("../../config/index.ts");
  const { id, stats } = readRecord(asked);
  if (stats !== false) return { id, store: stats.includes("://") ? stats : resolve(asked, stats) };
  throw new EspalierError("STATS_MISSING", `${asked} is a run without a stats store`, {
    fix: "its files have what it did: run.log, metrics.jsonl; stats: false in a configuration leaves the store out",
  });
}

export function registerRuns(program: Command, around: Surroundings = thisProcess()): void {
  const print = (lines: readonly string[]): Promise<void> => around.out.write(`${lines.join("\n")}\n`);
  const reading = <T>(options: StoreValues, use: (store: StatsStore) => Promise<T>): Promise<T> =>
    withStore(options, around, use);
  /** The same of runs, in the store that the first has which is named by its directory. */
  const readingRuns = async <T>(
    asked: readonly string[],
    options: StoreValues,
    use: (store: StatsStore, ...ids: readonly string[]) => Promise<T>,
  ): Promise<T> => {
    const places = await Promise.all(asked.map(placeOf));
    const store = options.store ?? places.find((place) => place.store !== undefined)?.store;
    return reading({ ...options, ...given({ store }) }, (opened) =>
      use(opened, ...places.map(({ id }) => id)),
    );
  };
  const style = (ascii = false) => styleFor(around.out, around.env, ascii);
  const command = (name: string, table: CommandOptions, examples: string): Command =>
    withOptions(program.command(name), table).addHelpText("after", `\nExamples:\n${examples}`);

  command(
    "runs",
    { ...runsOptions, ...listOptions },
    `  espalier runs                           the newest 20
  espalier runs --metric evaluation/return  with another metric than the loss
  espalier runs --store postgres://db/ml --json`,
  ).action(async (options: StoreValues & Values<typeof listOptions>) => {
    const choice = { ...options, now: around.clock.wall() };
    await reading(options, async (store) => {
      const found = await listRuns(store, choice);
      await print(options.json ? [jsonText(found.runs)] : listText(store.location, found, choice, style()));
    });
  });

  command(
    "show",
    showOptions,
    `  espalier show mnist
  espalier show mnist --metric train/loss "evaluation/*"
  espalier show 3f2a --json`,
  )
    .argument("<run>", RUN)
    .action(async (run: string, options: Values<typeof showOptions>) => {
      const now = around.clock.wall();
      await readingRuns([run], options, async (store, id = run) => {
        const shown = await readShown(store, id, { now, ...options });
        await print(options.json ? [jsonText(shownJson(shown))] : showText(shown, now, style(options.ascii)));
      });
    });

  command(
    "compare",
    compareOptions,
    `  espalier compare mnist 3f2a
  espalier compare a b c --metric train/loss "validation/*"
  espalier compare a b --json`,
  )
    .argument("<runs...>", `two or more, each by ${RUN}`)
    .action(async (runs: readonly string[], options: Values<typeof compareOptions>) => {
      if (runs.length < 2)
        throw new EspalierError("OPTION_INVALID", "there is one run, and nothing to compare it with", {
          fix: "give two or more runs; espalier runs lists them",
        });
      await readingRuns(runs, options, async (store, ...ids) => {
        const found = await readComparison(store, ids, { now: around.clock.wall(), ...options });
        await print(options.json ? [jsonText(found)] : compareText(found, style()));
      });
    });

  command(
    "export",
    { ...runsOptions, ...exportOptions },
    `  espalier export mnist --to csv
  espalier export mnist --to tensorboard --out logs/mnist
  espalier export mnist --to jsonl --out - | head

Exit codes: 0 all is written, 1 it failed, 130 interrupted.`,
  )
    .argument("<run>", RUN)
    .action(async (run: string, options: StoreValues & Values<typeof exportOptions>) => {
      const whole = await readingRuns([run], options, (store, id = run) =>
        exportRun(store, id, options, around),
      );
      if (!whole) process.exitCode = 130; // As of a program that Ctrl-C ends.
    });

  command(
    "tail",
    { ...runsOptions, ...tailOptions },
    `  espalier tail mnist
  espalier tail mnist --metric train/loss --interval 5`,
  )
    .argument("<run>", RUN)
    .action(async (run: string, options: StoreValues & Values<typeof tailOptions>) => {
      await readingRuns([run], options, (store, id = run) => tail(store, id, options, style(), around));
    });

  command(
    "why",
    whyOptions,
    `  espalier why mnist checkpoint
  espalier why mnist evaluation --at 1200`,
  )
    .argument("<run>", RUN)
    .argument("<hook>", "its name")
    .action(async (run: string, hook: string, options: Values<typeof whyOptions>) => {
      await readingRuns([run], options, async (store, id = run) => {
        const { readWhy } = await import("../../metrics/index.ts");
        const why = await readWhy(store, id, hook, options.at);
        await print(options.json ? [jsonText(whyJson(why))] : whyLines(why, style()));
      });
    });
}

/** Opens the store a command reads, and closes it afterwards. */
export async function withStore<T>(
  options: StoreValues,
  { env, openStore }: Pick<Surroundings, "env" | "openStore">,
  use: (store: StatsStore) => Promise<T>,
): Promise<T> {
  const location = storeLocation(options, env);
  const store = await openStore(location).catch((error: unknown) => {
    if (!(error instanceof EspalierError) || error.code !== "STATS_MISSING") throw error;
    throw new EspalierError(error.code, `there is no stats store ${location}`, {
      fix: "espalier train makes one; of runs elsewhere give --store, or set ESPALIER_STORE: their SQLite file or postgres:// URL",
      cause: error,
    });
  });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const whyJson = ({ decisions, verdicts, undecided }: HookDecisions): unknown =>
  verdicts ?? (undecided ? [undecided] : decisions);

function whyLines(
  { decisions, verdicts = [], undecided }: HookDecisions,
  { colors }: Pick<Style, "colors">,
): readonly string[] {
  if (undecided) return [printable(`${undecided.hook}: ${undecided.text}`, 1000)];
  const rows = decisions.map(({ fromStep, toStep, event, ran, times, why }) => [
    fromStep === toStep ? countText(fromStep) : `${countText(fromStep)} to ${countText(toStep)}`,
    event,
    ran ? "ran" : "did not run",
    countText(times),
    why,
  ]);
  return [
    ...verdicts.map(({ text }) => printable(text, 1000)),
    ...(verdicts.length > 0 ? [""] : []),
    ...headedTable(["steps", "event", "what", "times", "because"], rows, colors),
  ];
}
