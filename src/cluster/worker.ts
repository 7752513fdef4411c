/**
 * A worker on any machine, as `espalier worker` runs it:
 *
 *     find    the run's description, which its trainer wrote: module, export, options        members.ts
 *     load    the module by its path from this project's directory, or as a package; or what the caller makes instead
 *     join    a link under a name that no worker of the run ever had                         transport.ts
 *     work    the worker's steps, until the run ends or the signal is aborted
 *     leave   what is being sent is sent or given up, the name is given back
 */
import { EspalierError, node } from "../core/index.ts";
import { makeWorker, type RolloutWorker, type WorkerStart, workerVariable } from "../rollout/index.ts";
import type { Broker } from "./broker.ts";
import { awaitRun, listMembers, type RunDescription } from "./members.ts";
import { ClusterLink } from "./transport.ts";

/** What a worker is started with. */
export interface ClusterWorkerOptions {
  readonly connect: () => Promise<Broker>;
  readonly run: string;
  /** The module, instead of the one that the run names: a path or a URL. */
  readonly module?: string;
  /** Makes the worker, instead of a module. */
  readonly make?: (start: WorkerStart) => RolloutWorker;
  /** The beginning of its name. Default: that of the machine. */
  readonly name?: string;
  /** Seconds to wait for the run's trainer. */
  readonly patience: number;
  readonly signal: AbortSignal;
  readonly warn: (text: string) => void;
  /** Called when it has joined. */
  readonly joined?: (link: ClusterLink, name: string) => void;
}

/** The module of a run's workers as a URL that this machine can import. */
export async function workerModule({
  connect,
  run,
  module,
  patience,
  warn,
}: Pick<ClusterWorkerOptions, "connect" | "run" | "module" | "patience" | "warn">): Promise<{
  readonly description: RunDescription;
  readonly url: string;
}> {
  const broker = await connect();
  try {
    const description = await awaitRun(broker, run, { seconds: patience, warn });
    const named = module ?? description.module;
    if (named === undefined)
      throw new EspalierError("WORKER_MODULE", `run "${run}" names no module that makes workers`, {
        fix: 'name it in the trainer, natsTransport({ run, module: "./worker.ts" }), or here: --module FILE; or give the run\'s file or directory: --config run.yaml',
      });
    return { description, url: moduleUrl(named) };
  } finally {
    await broker.close();
  }
}

/** Runs a worker until its run ends or the signal is aborted. Gives the rollouts that it sent. */
export async function runClusterWorker(options: ClusterWorkerOptions): Promise<number> {
  const { connect, run, patience, signal, warn } = options;
  const make = options.make ?? (await moduleMaker(options));
  const index = await placeIn(options);
  const name = memberName(options.name ?? node.os.hostname());
  // The module may train where it is not a worker's process.
  process.env[workerVariable] = name;
  const link = new ClusterLink({ run, name, connect, warn, patience });
  try {
    const worker = await make({ name, index, link, options: undefined });
    options.joined?.(link, name);
    await worker.run({ signal });
  } finally {
    await link.close();
  }
  return link.numbers.rollouts;
}

/** The function of the run's module that makes workers, with the options that the trainer gives. */
async function moduleMaker(options: ClusterWorkerOptions) {
  const { description, url } = await workerModule(options);
  const { name = "worker", options: given } = description;
  return ({ link, ...start }: WorkerStart) =>
    makeWorker({ module: url, export: name, start: { ...start, options: given } }, link);
}

/** How many workers the run has already: workers that explore differently go by it. */
async function placeIn({ connect, run }: ClusterWorkerOptions): Promise<number> {
  const broker = await connect();
  try {
    return (await listMembers(broker, run)).filter(({ kind }) => kind === "worker").length;
  } finally {
    await broker.close();
  }
}

/** The URL of a file of this project, by its path, or of a package. */
export function moduleUrl(named: string): string {
  const { fs, module, path, url } = node;
  if (named.startsWith("file:")) return named;
  const file = path.resolve(named);
  if (fs.existsSync(file)) return url.pathToFileURL(file).href;
  try {
    const here = module.createRequire(path.join(process.cwd(), "espalier.js"));
    return url.pathToFileURL(here.resolve(named)).href;
  } catch (cause) {
    throw new EspalierError(
      "WORKER_MODULE",
      `there is neither a file ${file} nor a package "${named}" here`,
      {
        fix: "start it in the project's directory, where the trainer's module is; or name the module: --module FILE",
        cause,
      },
    );
  }
}

/** A name that begins with this one, and that nobody had before: an id of a rollout begins with it, and counts once. */
export function memberName(given: string): string {
  const clean = given
    .replace(/[^A-Za-z0-9_-]/g, "-")
    .replace(/^-+/, "")
    .slice(0, 60);
  return `${clean || "worker"}-${node.crypto.randomBytes(5).toString("hex")}`;
}
