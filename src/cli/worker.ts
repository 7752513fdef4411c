import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { EspalierError, numberText, printable } from "../core/index.ts";
import type { RolloutGenerator, WorkerStart } from "../rollout/index.ts";
import { given, option, type Values, withOptions } from "./options.ts";
import { ranFor, thisProgram } from "./run-again.ts";
import { leaveOnSignals, signalCodes } from "./terminal.ts";
import { jsonText } from "./text.ts";
import { configuredParts } from "./train.ts";

/** Options of processes that take part in a run. */
export const memberOptions = {
  servers: option.text("<url>", "the NATS server (default: NATS_URL); its token is NATS_TOKEN"),
  name: option.text("<text>", "the beginning of its name (default: this machine's)"),
  set: option.set(),
  wait: option.number("<seconds>", "how long to wait for the run's trainer", {
    min: 0,
    max: 86_400,
    default: 60,
  }),
  engine: option.engine("where the policy runs"),
};

const workerOptions = {
  ...memberOptions,
  run: option.text(
    "<name>",
    "the run: natsTransport({ run }) (default: that of the configuration's transport)",
  ),
  module: option.text("<file>", "the file that makes workers, instead of the one that the run names"),
  config: option.text(
    "<file|run>",
    "make the worker of a configuration, or of the run in a directory: its task's generator and worker",
  ),
  count: option.count("<n>", "workers, each a process of its own", { default: 1 }),
  json: option.json("print lines of JSON"),
};
type WorkerOptions = Values<typeof workerOptions>;

/** Milliseconds between two lines about what it does. */
const interval = 10_000;

export function registerWorker(program: Command): void {
  withOptions(program.command("worker"), workerOptions)
    .addHelpText(
      "after",
      `
Start it in the project's directory: the module that the trainer names is imported from there. With --config no module
is needed: the task's generator in the file makes the rollouts. It works until the run ends (exit code 0), and leaves on SIGTERM or Ctrl-C (143, 130). A trainer or a server that is away for a while is
waited for.

Examples:
  espalier worker --run maze
  espalier worker --config run.yaml
  NATS_URL=nats://trainer:4222 NATS_TOKEN=... espalier worker --run maze --count 8`,
    )
    .action(async (options: WorkerOptions) => {
      if (options.engine) process.env.ESPALIER_ENGINE = options.engine;
      if (options.count > 1) await runMany(options.count);
      else await runOne(options);
    });
}

/** As many processes of this command as were asked for, each with one worker. */
async function runMany(count: number): Promise<void> {
  const [node, ...rest] = thisProgram();
  const given = process.argv.slice(2);
  const args = given.filter((arg, i) => !/^--count(=|$)/.test(arg) && given[i - 1] !== "--count");
  const children = Array.from({ length: count }, () =>
    spawn(node, [...rest, ...args, "--count", "1"], { stdio: "inherit" }),
  );
  let asked: number | undefined;
  for (const [signal, code] of Object.entries(signalCodes))
    process.on(signal, () => {
      asked ??= code;
      // Ctrl-C reaches them as well, and a second SIGINT would end them at once.
      for (const child of children) child.kill("SIGTERM");
    });
  const ends = await Promise.all(children.map((child) => once(child, "exit")));
  const failed = ends.map(([code, signal]) => (signal ? 1 : Number(code))).filter((code) => code !== 0);
  process.exitCode = asked ?? failed[0] ?? 0;
}

async function runOne(options: WorkerOptions): Promise<void> {
  const configured = options.config === undefined ? undefined : await workerOf(options.config, options.set);
  if (configured === "elsewhere") return;
  const run = options.run ?? configured?.run;
  if (run === undefined)
    throw new EspalierError("OPTION_INVALID", "it is not said for which run", {
      fix: "give --run NAME, or --config with a task whose transport is natsTransport({ run })",
    });
  const { natsBroker, runClusterWorker, workerModule } = await import("../cluster/index.ts");
  const { servers, name, module, wait: patience } = options;
  const warn = (text: string): void => console.error(text);
  const connect = () => natsBroker({ ...given({ servers }), patience, warn });
  const request = { connect, run, patience, warn, ...given({ module }) };
  if (!configured) {
    const { url } = await workerModule(request);
    if (await ranFor(fileURLToPath(url))) return;
  }
  const leaving = leaveOnSignals("worker");
  const say = (event: object, text: string): void => console.log(options.json ? jsonText(event, 0) : text);
  let timer: NodeJS.Timeout | undefined;
  const began = performance.now();
  try {
    const sent = await runClusterWorker({
      ...request,
      ...given({ name, make: configured?.make }),
      signal: leaving,
      joined: (link, own) => {
        say({ kind: "joined", name: own, run }, `${own} works for run "${printable(run)}"`);
        timer = setInterval(() => {
          const { rollouts, weightId, staleness } = link.numbers;
          const rate = rollouts / ((performance.now() - began) / 1000);
          say(
            { kind: "working", rollouts, rate, weightId, staleness },
            `${rollouts} rollouts, ${numberText(rate)} a second; weights ${weightId}, ${staleness} updates behind`,
          );
        }, interval);
      },
    });
    const why = leaving.aborted ? "stopped" : "ended";
    const text = why === "stopped" ? "it was told to leave" : `run "${printable(run)}" has ended`;
    say({ kind: "left", why, rollouts: sent }, `${sent} rollouts; ${text}`);
  } finally {
    clearInterval(timer);
  }
}

/** The worker of a configuration, and the run that its transport names. "elsewhere": another process did it all. */
async function workerOf(config: string, overrides: readonly string[]) {
  const { configError, locateConfig } = await import("../config/index.ts");
  const found = await configuredParts(locateConfig(config), overrides, [
    ["task", "generator"],
    ["task", "worker"],
    ["task", "transport", "run"],
  ]);
  if (!found) return "elsewhere";
  const [generator, worker, run] = found.parts;
  if (generator === undefined)
    throw configError(found.source, [
      {
        path: ["task"],
        message: "the task has no generator, which workers make rollouts with",
        fix: "give it one beside the transport: generator: { use: environmentRollouts, env: CartPole-v1 }",
      },
    ]);
  const { RolloutWorker } = await import("../rollout/index.ts");
  return {
    run: typeof run === "string" ? run : undefined,
    make: ({ name, link }: WorkerStart) =>
      // It checks them.
      new RolloutWorker({
        ...(worker as object | undefined),
        generator: generator as RolloutGenerator,
        name,
        link,
      }),
  };
}
