import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { amountText } from "../core/index.ts";
import type { RunningDashboard } from "../dashboard/index.ts";
import { option, type Values, withOptions } from "./options.ts";
import { ownAddresses, type Surroundings, thisProcess } from "./terminal.ts";

/** Options of commands that read the runs of a directory and the stats store beside them. */
export const runsOptions = {
  runs: option.runs(),
  store: option.text(
    "<location>",
    "the stats store: a SQLite file or a postgres:// URL (default: $ESPALIER_STORE, or stats.db in --runs)",
  ),
};

const dashboardOptions = {
  ...runsOptions,
  host: option.text("<address>", "where it listens; others than 127.0.0.1 can be reached from outside", {
    default: "127.0.0.1",
  }),
  port: option.count("<n>", "its port; 0: a free one (default: 6006, or the next that is free)", {
    min: 0,
    max: 65_535,
  }),
  token: option.text("<token>", "what control needs, 16 characters or more (default: a new one)"),
};
type DashboardCommandOptions = Values<typeof dashboardOptions>;

export function registerDashboard(program: Command, around: Surroundings = thisProcess()): void {
  withOptions(program.command("dashboard"), dashboardOptions)
    .addHelpText(
      "after",
      `
The address that it prints has the token, with which the page may steer runs; without it the page only shows them. On
another address than 127.0.0.1 nothing is shown without the token. Ctrl-C ends it.

Examples:
  espalier dashboard
  espalier dashboard --runs /data/runs --port 8080
  espalier dashboard --store postgres://me@db/training
  espalier dashboard --host 0.0.0.0 --token "$DASHBOARD_TOKEN"`,
    )
    .action((options: DashboardCommandOptions) => dashboard(options, around));
}

async function dashboard(options: DashboardCommandOptions, around: Surroundings): Promise<void> {
  const { out, interrupts } = around;
  const { runs: directory, store: _, ...address } = options;
  const store = storeLocation(options, around.env);
  const { startDashboard } = await import("../dashboard/index.ts");
  const { signal, stop } = interrupts(["SIGINT", "SIGTERM"]);
  try {
    const lines = [await storeText(store, around)];
    const server = await startDashboard({ store, directory, ...address });
    try {
      lines.push(
        ...addressesOf(server, options.host).map(
          (url) => `${url}#${new URLSearchParams({ token: server.token })}`,
        ),
      );
      await out.write(`${lines.join("\n")}\nCtrl-C ends it\n`);
      await new Promise<void>((done) => {
        if (signal.aborted) done();
        signal.addEventListener("abort", () => done());
      });
    } finally {
      await server.close();
    }
  } finally {
    stop();
  }
}

/** What is in a store. Where there is none yet, the dashboard waits for it. */
async function storeText(location: string, { openStore }: Surroundings): Promise<string> {
  // A database says itself what is wrong.
  if (!location.includes("://") && !existsSync(location))
    return `there is no stats store ${location} yet: its runs are shown once it is there`;
  const store = await openStore(location);
  try {
    return `${amountText((await store.runs()).length, "runs")} in ${store.location}`;
  } finally {
    await store.close();
  }
}

/** Where the page is: on this machine, and from others where they can reach it. */
function addressesOf({ url }: RunningDashboard, host: string): readonly string[] {
  if (host !== "0.0.0.0" && host !== "::") return [url];
  const { port } = new URL(url);
  return [url, ...ownAddresses().map((address) => `http://${address}:${port}/`)];
}

/** Where options say that the stats store is, or that of a directory of runs. */
export const storeLocation = (
  { runs, store }: { readonly runs: string; readonly store?: string },
  env: Surroundings["env"],
): string => store ?? (env.ESPALIER_STORE || join(runs, "stats.db"));
