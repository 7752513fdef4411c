import { EspalierError, isPlainObject, node } from "../../core/index.ts";
import { type FileSystem, putJson, readWhole } from "./file-system.ts";

/** Names in a store's directory that are not checkpoints. */
const lockPrefix = ".lock-";
export const temporaryPrefix = ".tmp-";
const claimPrefix = `${temporaryPrefix}lock-`;

interface Claim extends ProcessIdentity {
  readonly holder: string;
}

/** Options of {@link takeLock}. */
interface LockOptions {
  readonly processes: Processes;
  readonly holder: string;
  readonly token: string;
  readonly takeOver: boolean;
  /** Prefix of the names of such locks. Default: that of locks on the whole directory. */
  readonly prefix?: string;
  /** The locked thing, for messages. Default: the directory. */
  readonly what?: string;
}

/**
 * Takes the right to write to a directory. Each process puts a claim of its own beside those of others, then looks:
 * with a claim of a running process there, it takes its own back and refuses. Of two that come at once at least one
 * sees the other, so that there are never two holders. Claims of ended processes are removed.
 */
export async function takeLock(
  fs: FileSystem,
  directory: string,
  options: LockOptions,
): Promise<{ release(): Promise<void> }> {
  const { processes, holder, token, takeOver, prefix = lockPrefix, what = directory } = options;
  const mine = `${prefix}${processes.self.pid}-${token}`;
  const path = node.path.join(directory, mine);
  const draft = node.path.join(directory, `${claimPrefix}${processes.self.pid}-${token}`);
  const claim: Claim = { ...processes.self, holder };
  await putJson(fs, path, draft, claim);
  const release = (): Promise<void> => fs.remove(path);
  try {
    for (const name of await fs.list(directory)) {
      if (!name.startsWith(prefix) || name === mine) continue;
      const other = await readClaim(fs, node.path.join(directory, name));
      if (other === "gone") continue;
      const running = other === "unreadable" ? undefined : processes.isRunning(other);
      if (running === true || (running === undefined && !takeOver))
        throw refusal(what, node.path.join(directory, name), other, processes.self);
      await fs.remove(node.path.join(directory, name));
    }
  } catch (error) {
    await release().catch(() => undefined);
    throw error;
  }
  return { release };
}

/** True for names that a killed writer left behind; false for claims that running processes are making. */
export function isLeftover(name: string, processes: Processes): boolean {
  if (!name.startsWith(temporaryPrefix)) return false;
  const pid = name.startsWith(claimPrefix)
    ? Number(/^\d+/.exec(name.slice(claimPrefix.length))?.[0])
    : undefined;
  if (pid === undefined) return true;
  return processes.isRunning({ pid, host: processes.self.host, start: null }) !== true;
}

const isClaim = (value: unknown): value is Claim => isPlainObject(value) && typeof value.pid === "number";

async function readClaim(fs: FileSystem, path: string): Promise<Claim | "gone" | "unreadable"> {
  let text: string;
  try {
    text = await readWhole(fs, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return "gone";
    if (code === "NOT_REGULAR" || code === "ENXIO") return "unreadable";
    throw error;
  }
  try {
    const claim: unknown = JSON.parse(text);
    if (isClaim(claim)) return claim;
  } catch {
    // Not JSON: told below.
  }
  return "unreadable";
}

function refusal(
  what: string,
  path: string,
  other: Claim | "unreadable",
  self: ProcessIdentity,
): EspalierError {
  if (other === "unreadable")
    return new EspalierError("STORE_LOCKED", `${what} has a lock that cannot be read: ${path}`, {
      fix: "delete that file if no other process trains there",
    });
  const { pid, host, holder } = other;
  if (host === self.host && pid === self.pid)
    return new EspalierError("STORE_LOCKED", `${what} is in use by this process already (${holder})`, {
      fix: "close the other CheckpointManager first, or give each a directory of its own",
    });
  const away = host !== self.host;
  return new EspalierError("STORE_LOCKED", `${what} is in use by process ${pid} on ${host} (${holder})`, {
    fix: away
      ? `stop it, or use another directory; if it no longer runs, delete ${path} or pass takeOver: true`
      : "stop it, or use another directory",
  });
}

/** Enough to tell whether a process is the one that is meant, after its number has been given to another. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** When it started, where the system tells: the boot and the tick. */
  readonly start: string | null;
}

/** The processes of the system, as locks see them. Tests bring others. */
export interface Processes {
  readonly self: ProcessIdentity;
  /** True if it runs; undefined if that cannot be known, as of another machine. */
  isRunning(identity: ProcessIdentity): boolean | undefined;
}

/** The processes of this machine. */
export function systemProcesses(): Processes {
  const host = node.os.hostname();
  return {
    self: { pid: process.pid, host, start: startOf(process.pid) },
    isRunning: (identity) => {
      if (identity.host !== host) return undefined;
      try {
        process.kill(identity.pid, 0);
      } catch (error) {
        // EPERM: it runs, as another user.
        if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
      }
      const start = startOf(identity.pid);
      return start === null || identity.start === null || start === identity.start;
    },
  };
}

/** Linux tells when a process started; elsewhere only its number is known. A process that has ended and was not
 * fetched by its parent (a zombie) counts as gone. */
function startOf(pid: number): string | null {
  try {
    const boot = node.fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The second field is the program's name in parentheses and may contain anything.
    const fields = node.fs
      .readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? `${boot}:ended` : `${boot}:${fields[19]}`;
  } catch {
    return null;
  }
}
