import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { Surroundings } from "./surroundings.ts";

/**
 * The folders Python loads packages from, as far as files tell: starting Python would take longer than
 * starting the plugin. The active environment comes first, then the `python3` on the PATH, then the user's own.
 */
export function sitePackages({ env, home }: Surroundings): readonly string[] {
  const python = onPath(env.PATH ?? "");
  const prefixes = [env.VIRTUAL_ENV, env.CONDA_PREFIX, ...(python ? prefixesOf(python, env) : [])];
  const folders = [
    ...(env.PYTHONPATH ?? "").split(delimiter),
    ...prefixes.flatMap((prefix) => (prefix ? packagesUnder(prefix) : [])),
    ...packagesUnder(join(home, ".local")),
  ];
  return [...new Set(folders.filter((folder) => folder !== "" && existsSync(folder)))];
}

/** The first `python3` on the PATH. */
function onPath(path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "python3"))
    .find((file) => existsSync(file));
}

/** The installations that a `python3` stands for. */
function prefixesOf(python: string, env: Surroundings["env"]): readonly string[] {
  const near = dirname(dirname(python));
  if (existsSync(join(near, "pyvenv.cfg"))) return [near];
  if (python.endsWith("/shims/python3")) return pyenvPrefixes(env.PYENV_ROOT || near, env.PYENV_VERSION);
  const real = dirname(dirname(realpathSync(python)));
  // Distributions put what pip installs for the whole machine under /usr/local.
  return real === "/usr" ? ["/usr/local", "/usr"] : [real];
}

/** pyenv puts a script on the PATH that picks one of several installations by name. */
function pyenvPrefixes(root: string, chosen: string | undefined): readonly string[] {
  const names = chosen?.split(":") ?? readLines(join(root, "version"));
  return names.map((name) => join(root, "versions", name)).filter((prefix) => existsSync(prefix));
}

/** `lib/python3.X/site-packages` of an installation and Debian's names for the same, newest version first. */
function packagesUnder(prefix: string): readonly string[] {
  const lib = join(prefix, "lib");
  return listFolder(lib)
    .filter((name) => /^python3(\.\d+)?$/.test(name))
    .sort((a, b) => minorOf(b) - minorOf(a))
    .flatMap((name) => [join(lib, name, "site-packages"), join(lib, name, "dist-packages")]);
}

function minorOf(name: string): number {
  return Number(name.split(".")[1] ?? 0);
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** The names in a folder; none where it cannot be read. */
export function listFolder(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
