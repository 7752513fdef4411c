import { mkdir, rename, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { badOption, type Clock, checkNames, shown, systemClock } from "../../../core/index.ts";
import type { Counters } from "../../../schedule/index.ts";
import type { HeartbeatRow, StatsStore } from "../../store/stats-store.ts";
import { NewestOutlet } from "./outlet.ts";

/** Where heartbeats go. */
export interface HeartbeatOptions {
  /** A small JSON file that is replaced at every beat. */
  readonly file?: string | undefined;
  /** Where every beat is filed as a row. */
  readonly statsStore?: Pick<StatsStore, "add" | "location"> | undefined;
  /** The run's id. */
  readonly run: string;
  readonly clock?: Clock | undefined;
  /** Told once of a file and once of a store that fails. */
  readonly warn?: ((text: string) => void) | undefined;
}

/** What tells others that a run is alive. */
export interface Heartbeat {
  /**
   * Says that the run is alive, and where it is. Nobody needs to wait: it resolves when that is written, and never
   * rejects. While one beat is being written, of the others only the newest is kept.
   */
  beat(counters: Counters, phase: string): Promise<void>;
  /** Waits for what is under way, five seconds at most. */
  close(): Promise<void>;
}

/** Milliseconds for which the end of a run waits for the last beat. */
const patience = 5000;

/**
 * Tells others that a run is alive: by a file that is always whole, by rows in the stats store, or both. What fails is
 * warned of once and stops nothing. {@link isAlive} reads it.
 *
 * @example
 * ```ts
 * const heart = heartbeat({ file: "runs/mnist/heartbeat.json", run: "mnist" });
 * await heart.beat(counters, "train");
 * ```
 */
export function heartbeat(options: HeartbeatOptions): Heartbeat {
  checkNames("heartbeat", options, ["file", "statsStore", "run", "clock", "warn"]);
  const { file, statsStore, run, clock = systemClock, warn = () => undefined } = options;
  checkPlaces("heartbeat", file, statsStore);
  if (typeof run !== "string" || run === "")
    throw badOption("heartbeat", `run is ${shown(run)}`, "give the run's id");
  const told = (where: string) => (cause: unknown) =>
    warn(
      `no heartbeat in ${where}: ${cause instanceof Error ? cause.message : String(cause)}; training goes on, ` +
        "and this is not said again",
    );
  const outlets: NewestOutlet<HeartbeatRow>[] = [];
  if (file !== undefined) outlets.push(new NewestOutlet((row) => replace(file, { run, ...row }), told(file)));
  if (statsStore)
    outlets.push(
      new NewestOutlet((row) => statsStore.add(run, "heartbeat", [row]), told(statsStore.location)),
    );
  return {
    async beat({ steps }, phase) {
      const row = { wall: clock.wall(), step: steps, pid: process.pid, host: hostname(), phase };
      await Promise.all(outlets.map((outlet) => outlet.put(row)));
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patience);
      });
      await Promise.race([Promise.all(outlets.map(({ idle }) => idle)), late]);
      clearTimeout(timer);
    },
  };
}

/** Refuses a heartbeat that nobody could hear. */
export function checkPlaces(kind: string, file: unknown, statsStore: unknown): void {
  if (file === undefined && statsStore === undefined)
    throw badOption(kind, "it is not said where to", 'give file, statsStore or both: file: "heartbeat.json"');
  if (file !== undefined && (typeof file !== "string" || file === ""))
    throw badOption(kind, `file is ${shown(file)}`, "give the path of a file");
  if (statsStore !== undefined && typeof (statsStore as StatsStore | null)?.add !== "function")
    throw badOption(kind, `statsStore is ${shown(statsStore)}`, "give an opened stats store");
}

/** Whoever reads the file finds it whole: the old one or the new one. */
async function replace(file: string, content: object): Promise<void> {
  const beside = `${file}.${process.pid}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(beside, `${JSON.stringify(content)}\n`);
  await rename(beside, file);
}
