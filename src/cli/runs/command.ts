import { type Command, Option } from "commander";
import { EspalierError } from "../../core/index.ts";
import type { StatsStore } from "../../metrics/index.ts";
import { countOf, given, numberOf } from "../options.ts";
import { type Surroundings, styleFor, thisProcess } from "../terminal.ts";
import { jsonText } from "../text.ts";
import { compareText, readComparison } from "./compare.ts";
import { exportRun, FORMATS, type Format } from "./export.ts";
import { listRuns, listText } from "./list.ts";
import { readShown, shownJson, showText } from "./show.ts";
import { tail } from "./tail.ts";
import { whyJson, whyLines } from "./why.ts";

interface StoreOptions {
  readonly store?: string;
  readonly json?: boolean;
  readonly ascii?: boolean;
}

const RUN = "its id, the beginning of it, or its name (the newest of that name)";
const METRIC = 'metrics in full, * for any letters: train/loss, "validation/*"';

/** `espalier runs | show | compare | export | tail | why`. */
export function registerRuns(program: Command, around: Surroundings = thisProcess()): void {
  const print = (lines: readonly string[]): Promise<void> => around.out.write(`${lines.join("\n")}\n`);
  const reading = <T>(options: StoreOptions, use: (store: StatsStore) => Promise<T>): Promise<T> =>
    withStore(options.store, around, use);
  const style = (options: StoreOptions) => styleFor(around.out, around.env, options.ascii === true);
  const command = (name: string, examples: string): Command =>
    program
      .command(name)
      .option(
        "--store <location>",
        "the stats store: a SQLite file or a postgres:// URL (default: $ESPALIER_STORE, or runs/stats.db)",
      )
      .addHelpText("after", `\nExamples:\n${examples}`);

  command(
    "runs",
    `  espalier runs                           the newest 20
  espalier runs --metric evaluation/return  with another metric than the loss
  espalier runs --store postgres://db/ml --json`,
  )
    .option("--limit <n>", "the most that are listed", countOf("--limit"), 20)
    .option("--metric <key>", "the metric whose newest value is shown, instead of the loss")
    .option("--json", "print JSON")
    .action(async (options: StoreOptions & { readonly limit: number; readonly metric?: string }) => {
      const { limit, metric } = options;
      const choice = { limit, now: around.clock.wall(), ...given({ metric }) };
      await reading(options, async (store) => {
        const found = await listRuns(store, choice);
        await print(
          options.json ? [jsonText(found.runs)] : listText(store.location, found, choice, style(options)),
        );
      });
    });

  command(
    "show",
    `  espalier show mnist
  espalier show mnist --metric train/loss "evaluation/*"
  espalier show 3f2a --json`,
  )
    .argument("<run>", RUN)
    .option("--metric <keys...>", METRIC)
    .option("--ascii", "draw with plain letters")
    .option("--json", "print JSON")
    .action(async (run: string, options: StoreOptions & { readonly metric?: readonly string[] }) => {
      const { metric } = options;
      const now = around.clock.wall();
      await reading(options, async (store) => {
        const shown = await readShown(store, run, { now, ...given({ metric }) });
        await print(options.json ? [jsonText(shownJson(shown))] : showText(shown, now, style(options)));
      });
    });

  command(
    "compare",
    `  espalier compare mnist 3f2a
  espalier compare a b c --metric train/loss "validation/*"
  espalier compare a b --json`,
  )
    .argument("<runs...>", `two or more, each by ${RUN}`)
    .option("--metric <keys...>", METRIC)
    .option("--json", "print JSON")
    .action(
      async (runs: readonly string[], options: StoreOptions & { readonly metric?: readonly string[] }) => {
        if (runs.length < 2)
          throw new EspalierError("OPTION_INVALID", "there is one run, and nothing to compare it with", {
            fix: "give two or more runs; espalier runs lists them",
          });
        const { metric } = options;
        await reading(options, async (store) => {
          const now = around.clock.wall();
          const found = await readComparison(store, runs, { now, ...given({ metric }) });
          await print(options.json ? [jsonText(found)] : compareText(found, style(options)));
        });
      },
    );

  command(
    "export",
    `  espalier export mnist --to csv
  espalier export mnist --to tensorboard --out logs/mnist
  espalier export mnist --to jsonl --out - | head

Exit codes: 0 all is written, 1 it failed, 130 interrupted.`,
  )
    .argument("<run>", RUN)
    .addOption(new Option("--to <format>", "what to write").choices(FORMATS).makeOptionMandatory())
    .option("--out <path>", "where to; - is standard output (default: named after the run's id)")
    .option("--force", "write over what is there")
    .option("--json", "print what was written as JSON")
    .action(
      async (
        run: string,
        options: StoreOptions & { readonly to: Format; readonly out?: string; readonly force?: boolean },
      ) => {
        const whole = await reading(options, (store) => exportRun(store, run, options, around));
        if (!whole) process.exitCode = 130; // As of a program that Ctrl-C ends.
      },
    );

  command(
    "tail",
    `  espalier tail mnist
  espalier tail mnist --metric train/loss --interval 5`,
  )
    .argument("<run>", RUN)
    .option("--metric <keys...>", METRIC)
    .option("--interval <seconds>", "how often to look", numberOf("--interval", 0.05, 86_400, "seconds"), 1)
    .option("--json", "print each value as a line of JSON, and how the run ended as the last")
    .action(
      async (
        run: string,
        options: StoreOptions & { readonly metric?: readonly string[]; readonly interval: number },
      ) => {
        const { json, metric } = options;
        const choice = {
          interval: 1000 * options.interval,
          style: style(options),
          ...given({ json, metric }),
        };
        await reading(options, (store) => tail(store, run, choice, around));
      },
    );

  command(
    "why",
    `  espalier why mnist checkpoint
  espalier why mnist evaluation --at 1200`,
  )
    .argument("<run>", RUN)
    .argument("<hook>", "its name")
    .option(
      "--at <step>",
      "what is known of this step alone",
      numberOf("--at", 0, Number.MAX_SAFE_INTEGER, "a step"),
    )
    .option("--json", "print JSON")
    .action(async (run: string, hook: string, options: StoreOptions & { readonly at?: number }) => {
      await reading(options, async (store) => {
        const { readWhy } = await import("../../metrics/index.ts");
        const why = await readWhy(store, run, hook, options.at);
        await print(options.json ? [jsonText(whyJson(why))] : whyLines(why, style(options)));
      });
    });
}

/** The store of runs by default. */
const DEFAULT_STORE = "runs/stats.db";

/** Opens the store a command reads, and closes it afterwards. */
export async function withStore<T>(
  given: string | undefined,
  { env, openStore }: Pick<Surroundings, "env" | "openStore">,
  use: (store: StatsStore) => Promise<T>,
): Promise<T> {
  const location = given ?? (env.ESPALIER_STORE || DEFAULT_STORE);
  const store = await openStore(location).catch((error: unknown) => {
    if (!(error instanceof EspalierError) || error.code !== "STATS_MISSING") throw error;
    throw new EspalierError(error.code, `there is no stats store ${location}`, {
      fix: "give --store or set ESPALIER_STORE: the SQLite file or the postgres:// URL that the run was told to file in",
      cause: error,
    });
  });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
