import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { EspalierError } from "../../../core/index.ts";
import type { HeartbeatRow } from "../../store/stats-store.ts";

/** Phases of a last beat. */
const ended: readonly string[] = ["completed", "stopped", "interrupted", "failed"];

/** Options of {@link isAlive}. */
export interface AliveOptions {
  /** Milliseconds since 1970. Default: now. */
  readonly now?: number;
  /** Seconds since the last beat after which a run counts as dead. Default 120: four beats of the hook's default. */
  readonly patience?: number;
}

/**
 * Whether a run is alive, by its newest heartbeat: a row of the stats store, or the path of a heartbeat file. Not alive
 * is one without a heartbeat, one that has ended, one whose last beat is too long ago, and one of this machine whose
 * process is gone.
 *
 * @example
 * ```ts
 * if (!isAlive("runs/mnist/heartbeat.json", { patience: 300 })) restart();
 * ```
 */
export function isAlive(
  heartbeat: HeartbeatRow | string | undefined,
  { now = Date.now(), patience = 120 }: AliveOptions = {},
): boolean {
  const row = typeof heartbeat === "string" ? readHeartbeat(heartbeat) : heartbeat;
  if (!row || ended.includes(row.phase)) return false;
  if (now - row.wall > patience * 1000) return false;
  return row.host !== hostname() || isRunning(row.pid);
}

/**
 * What a heartbeat file says; undefined where there is none.
 *
 * @example
 * ```ts
 * const { step, phase } = readHeartbeat("runs/mnist/heartbeat.json") ?? { step: 0, phase: "never begun" };
 * ```
 */
export function readHeartbeat(file: string): HeartbeatRow | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw notOne(file, cause);
  }
  let row: Partial<HeartbeatRow> | null;
  try {
    row = JSON.parse(text) as Partial<HeartbeatRow> | null;
  } catch (cause) {
    throw notOne(file, cause);
  }
  if (typeof row?.wall !== "number" || typeof row.pid !== "number" || typeof row.phase !== "string")
    throw notOne(file);
  return row as HeartbeatRow;
}

const notOne = (file: string, cause?: unknown): EspalierError =>
  new EspalierError("HEARTBEAT_INVALID", `${file} is not a heartbeat`, {
    fix: "give the file that heartbeatHook or metricsHook was told to write",
    ...(cause !== undefined && { cause }),
  });

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    // Somebody else's process is one too.
    return (cause as NodeJS.ErrnoException).code === "EPERM";
  }
}
