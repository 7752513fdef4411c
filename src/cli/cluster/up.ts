/**
 * `espalier cluster up`:
 *
 *     start the server, print the command for other machines
 *     until Ctrl-C, SIGTERM or the end of the terminal:
 *       it died: start it again, with the same port, token and data
 *       read runs and members; on a terminal draw them over the last ones, elsewhere print a line when something changed
 *     stop the server
 */
import {
  type Broker,
  type NatsServer,
  type NatsServerOptions,
  natsBroker,
  type RunStatus,
  readStatus,
  startNatsServer,
} from "../../cluster/index.ts";
import { EspalierError } from "../../core/index.ts";
import { type Output, ownAddresses, type Style, type Surroundings, styleFor } from "../terminal.ts";
import { jsonText, timeText } from "../text.ts";
import { statusLines, summaryText } from "./status.ts";

/** Milliseconds from one look to the next. */
const LOOK_EVERY = 2_000;
/** Milliseconds after which a run's line is printed again although nobody came or went. */
const SAY_EVERY = 60_000;
/** A server that ends so many times in a row within so many milliseconds of its start is not started again. */
const QUICK_ENDS = 3;
const QUICK = 10_000;

/** Runs a server until it is interrupted. `call` is the command that people type. */
export async function up(
  { json = false, ...options }: NatsServerOptions & { readonly host: string; readonly json?: boolean },
  call: string,
  around: Surroundings,
): Promise<void> {
  const { out, clock, interrupts } = around;
  const { signal, stop } = interrupts(["SIGINT", "SIGTERM", "SIGHUP"]);
  const ending = new AbortController();
  const over = AbortSignal.any([signal, out.gone, ending.signal]);
  let server: NatsServer | undefined;
  let broker: Broker | undefined;
  try {
    server = await startNatsServer(options);
    const { url, port, token, version } = server;
    const { host, directory } = options;
    const greeting = json
      ? jsonText({ kind: "started", url, host, port, token, version, directory }, 0)
      : greetingLines(server, options, call).join("\n");
    await out.write(`${greeting}\n`);
    // That the server is away is said where it is started again.
    broker = await natsBroker({ servers: server.url, token: server.token, warn: () => undefined });
    const show = json
      ? printed(out, clock, (run) => jsonText({ kind: "run", ...run }, 0))
      : out.isTTY
        ? drawn(out, styleFor(out, around.env, false))
        : printed(out, clock);
    await Promise.all([
      watch(broker, show, around, over),
      keepRunning(server, options, around, over, (again) => {
        server = again;
      }),
    ]);
  } finally {
    ending.abort();
    await broker?.close();
    await server?.stop();
    stop();
  }
  const end = "the server has ended; what it kept is there when it is started again";
  await out.write(`${json ? jsonText({ kind: "ended" }, 0) : end}\n`);
}

async function watch(broker: Broker, show: Show, { pause }: Surroundings, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const found = await readStatus(broker).catch((error: unknown) => {
      if (error instanceof EspalierError) return undefined; // It does not answer now.
      throw error;
    });
    if (found && !over.aborted) await show(broker.address, found);
    await pause(LOOK_EVERY, over);
  }
}

/** Starts the server again each time it has ended by itself. */
async function keepRunning(
  first: NatsServer,
  options: NatsServerOptions,
  { err, clock }: Surroundings,
  over: AbortSignal,
  started: (again: NatsServer) => void,
): Promise<void> {
  const aborted = new Promise<undefined>((resolve) => {
    over.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  let server = first;
  for (let quickEnds = 0; ; ) {
    const startedAt = clock.wall();
    const reason = await Promise.race([server.ended, aborted]);
    if (reason === undefined || over.aborted) return;
    quickEnds = clock.wall() - startedAt < QUICK ? quickEnds + 1 : 0;
    if (quickEnds === QUICK_ENDS)
      throw new EspalierError("CLUSTER_SERVER_FAILED", `the server ends again and again: ${reason}`, {
        fix: `read nats-server.log in ${options.directory}`,
      });
    await err.write(`the server has ended (${reason.split(":")[0]}); it is started again\n`);
    server = await startNatsServer({ ...options, port: server.port });
    started(server);
  }
}

/** What people need to join: printed once. The token is shown here and nowhere else. */
export function greetingLines(
  { version, url, port, token }: Pick<NatsServer, "version" | "url" | "port" | "token">,
  { host, directory }: Pick<NatsServerOptions, "directory"> & { readonly host: string },
  call: string,
  addresses: readonly string[] = ownAddresses(),
): readonly string[] {
  const everywhere = host === "0.0.0.0" || host === "::";
  const others = everywhere ? addresses.map((address) => `nats://${address}:${port}`) : [url];
  const [first = url, ...more] = others;
  const alone = /^(127\.|localhost$|::1$)/.test(host);
  return [
    `nats-server ${version} answers at ${url} and keeps its data in ${directory}`,
    `${alone ? "For trainers, workers and evaluators on this machine" : "For trainers, workers and evaluators on any machine"}, in the project's directory:`,
    `  NATS_URL=${first} NATS_TOKEN=${token} ${call} worker --run RUN`,
    ...(more.length > 0 ? [`It has other addresses, too: ${more.join(", ")}`] : []),
    ...(alone ? ["Other machines cannot reach it: --host 0.0.0.0 lets them."] : []),
    "Ctrl-C ends it.",
    "",
  ];
}

type Show = (address: string, runs: readonly RunStatus[]) => Promise<void>;

/** Draws over what it drew last. What does not fit on the terminal is left out. */
export function drawn(out: Output, style: Style): Show {
  let height = 0;
  return async (address, runs) => {
    const lines = statusLines(address, runs, { ...style, width: (out.columns || style.width) - 1 });
    const most = Math.max(2, (out.rows ?? 24) - 2);
    const shown =
      lines.length <= most
        ? lines
        : [...lines.slice(0, most - 1), `and ${lines.length - most + 1} more lines`];
    await out.write(`${height > 0 ? `\x1b[${height}A\x1b[J` : ""}${shown.join("\n")}\n`);
    height = shown.length;
  };
}

/** Prints a line about a run when its state or its members have changed, and every minute while somebody is there. */
export function printed(
  out: Output,
  clock: Surroundings["clock"],
  lineOf: (run: RunStatus, at: number) => string = (run, at) => `${timeText(at)}  ${summaryText(run)}`,
): Show {
  const last = new Map<string, { readonly who: string; readonly at: number }>();
  return async (_address, runs) => {
    const at = clock.wall();
    for (const run of runs) {
      const who = [run.state, ...run.members.map(({ kind, name }) => `${kind}.${name}`)].join(" ");
      const before = last.get(run.run);
      const due = before === undefined || before.who !== who || at - before.at >= SAY_EVERY;
      if (!due || (run.members.length === 0 && before?.who === who)) continue;
      last.set(run.run, { who, at });
      await out.write(`${lineOf(run, at)}\n`);
    }
  };
}
