import { EspalierError, node } from "../../../core/index.ts";
import type { Surroundings } from "./find.ts";

export interface PipOptions {
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For tests: where programs are looked for, and the like. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** What can be done where there is no pip. */
  readonly withoutPip?: string | undefined;
}

/** The ways to call pip, in the order they are tried. */
const commands: readonly (readonly string[])[] = [["python3", "-m", "pip"], ["pip3"], ["pip"]];

/** Number of pip's last lines that an error carries. */
const LAST_LINES = 12;

/** Unpacks one package into `folder` with the user's own pip, so that their index settings hold. */
export async function installPackage(
  requirement: string,
  folder: string,
  options: PipOptions,
): Promise<void> {
  for (const command of commands) {
    if (!(await answers(command, options))) continue;
    const only = ["--no-deps", "--only-binary=:all:", "--no-compile", "--no-user"];
    const install = ["install", ...only, "--disable-pip-version-check", "--target", folder, requirement];
    const { code, lines } = await run([...command, ...install], options);
    if (code === 0) return;
    throw new EspalierError(
      "PIP_FAILED",
      `pip could not get ${requirement} (exit ${code}):\n${lines.slice(-LAST_LINES).join("\n")}`,
      {
        fix: `check the network and pip's settings with \`${command.join(" ")} download --no-deps ${requirement}\``,
      },
    );
  }
  throw new EspalierError("PIP_MISSING", "neither python3 -m pip nor pip3 nor pip runs here", {
    fix: ["install Python 3 with pip", options.withoutPip].filter(Boolean).join(", or "),
  });
}

/** True if this way to call pip works; a python3 may come without it. */
async function answers(command: readonly string[], { env, signal }: PipOptions): Promise<boolean> {
  const { code } = await run([...command, "--version"], { env, signal });
  return code === 0;
}

interface Outcome {
  /** Undefined where the program could not be started. */
  readonly code: number | null | undefined;
  readonly lines: readonly string[];
}

async function run(command: readonly string[], { onProgress, signal, env }: PipOptions): Promise<Outcome> {
  const [program = "", ...args] = command;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const lines: string[] = [];
    const child = node.childProcess.spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      ...(signal ? { signal } : {}),
      // What it warns of as root, files of the system in danger, does not hold for a folder of ours.
      env: { PIP_ROOT_USER_ACTION: "ignore", ...(env ?? process.env) },
    });
    for (const stream of [child.stdout, child.stderr])
      node.readline.createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        onProgress?.(line);
      });
    child.on("error", () => (signal?.aborted ? reject(signal.reason) : resolve({ code: undefined, lines })));
    child.on("close", (code) => resolve({ code, lines }));
  });
}

/**
 * The folders Python loads packages from, as far as files tell: starting Python would take longer than
 * starting the plugin. The active environment comes first, then the `python3` on the PATH, then the user's own.
 */
export function sitePackages({ env, home }: Surroundings): readonly string[] {
  const python = onPath(env.PATH ?? "");
  const prefixes = [env.VIRTUAL_ENV, env.CONDA_PREFIX, ...(python ? prefixesOf(python, env) : [])];
  const folders = [
    ...(env.PYTHONPATH ?? "").split(node.path.delimiter),
    ...prefixes.flatMap((prefix) => (prefix ? packagesUnder(prefix) : [])),
    ...packagesUnder(node.path.join(home, ".local")),
  ];
  return [...new Set(folders.filter((folder) => folder !== "" && node.fs.existsSync(folder)))];
}

/** The first `python3` on the PATH. */
function onPath(path: string): string | undefined {
  return path
    .split(node.path.delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => node.path.join(folder, "python3"))
    .find((file) => node.fs.existsSync(file));
}

/** The installations that a `python3` stands for. */
function prefixesOf(python: string, env: Surroundings["env"]): readonly string[] {
  const near = node.path.dirname(node.path.dirname(python));
  if (node.fs.existsSync(node.path.join(near, "pyvenv.cfg"))) return [near];
  if (python.endsWith("/shims/python3")) return pyenvPrefixes(env.PYENV_ROOT || near, env.PYENV_VERSION);
  const real = node.path.dirname(node.path.dirname(node.fs.realpathSync(python)));
  // Distributions put what pip installs for the whole machine under /usr/local.
  return real === "/usr" ? ["/usr/local", "/usr"] : [real];
}

/** pyenv puts a script on the PATH that picks one of several installations by name. */
function pyenvPrefixes(root: string, chosen: string | undefined): readonly string[] {
  const names = chosen?.split(":") ?? readLines(node.path.join(root, "version"));
  return names
    .map((name) => node.path.join(root, "versions", name))
    .filter((prefix) => node.fs.existsSync(prefix));
}

/** `lib/python3.X/site-packages` of an installation and Debian's names for the same, newest version first. */
function packagesUnder(prefix: string): readonly string[] {
  const lib = node.path.join(prefix, "lib");
  return listFolder(lib)
    .filter((name) => /^python3(\.\d+)?$/.test(name))
    .sort((a, b) => minorOf(b) - minorOf(a))
    .flatMap((name) => [
      node.path.join(lib, name, "site-packages"),
      node.path.join(lib, name, "dist-packages"),
    ]);
}

function minorOf(name: string): number {
  return Number(name.split(".")[1] ?? 0);
}

/** The lines of a file that are not empty; none where it cannot be read. */
export function readLines(file: string): readonly string[] {
  try {
    return node.fs
      .readFileSync(file, "utf8")
      .split(/\r?\n/)
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** The names in a folder; none where it cannot be read. */
export function listFolder(folder: string): readonly string[] {
  try {
    return node.fs.readdirSync(folder).sort();
  } catch {
    return [];
  }
}
