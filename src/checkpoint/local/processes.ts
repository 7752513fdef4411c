import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Enough to tell whether a process is the one that is meant, after its number has been given to another. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** When it started, where the system tells: the boot and the tick. */
  readonly start: string | null;
}

/** What the lock asks of the system. Tests bring one of their own. */
export interface Processes {
  readonly self: ProcessIdentity;
  /** Whether it runs; undefined where that cannot be known, as of another machine. */
  isRunning(identity: ProcessIdentity): boolean | undefined;
}

/** The processes of this machine. */
export function systemProcesses(): Processes {
  const host = hostname();
  return {
    self: { pid: process.pid, host, start: startOf(process.pid) },
    isRunning: (identity) => {
      if (identity.host !== host) return undefined;
      try {
        process.kill(identity.pid, 0);
      } catch (error) {
        // EPERM: it runs, as somebody else.
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
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The second field is the program's name in parentheses and may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return fields[0] === "Z" ? `${boot}:ended` : `${boot}:${fields[19]}`;
  } catch {
    return null;
  }
}
