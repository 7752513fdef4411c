import { badOption, checkNames, checkWord, shown } from "../../../core/index.ts";
import type { WatchdogReport } from "./report.ts";

/** What a deadline can be given for. */
export type WatchedPhase = "rollout" | "train" | "validation" | "hook" | "any";

/** Options of the watchdog. */
export interface WatchdogOptions {
  /** Default `watchdog`. */
  readonly name?: string;
  /**
   * In seconds: how long one call of the task may take that gathers experience or trains, one validation, the hooks of
   * one event together. `any`: how long any of these without a deadline of its own may, and all that lies between.
   */
  readonly deadlines: { readonly [P in WatchedPhase]?: number };
  /**
   * What happens when one is exceeded, beside the report. `exit` ends the process with code 124, whatever the main
   * thread does. A function gets the report when the main thread is free to call it. Default `report`: nothing else.
   */
  readonly onExceeded?: "report" | "exit" | ((report: WatchdogReport) => void);
  /** A file to which reports are added. They always go to standard error. */
  readonly file?: string;
}

/** The options with everything filled in. */
export interface WatchdogPlan {
  readonly name: string;
  /** Seconds. */
  readonly deadlines: WatchdogOptions["deadlines"];
  readonly exit: boolean;
  readonly onReport: ((report: WatchdogReport) => void) | undefined;
  readonly file: string | undefined;
  /** Whether rollouts, batches and hooks must be told apart. */
  readonly phases: boolean;
}

const kind = "watchdogHook";
const known: readonly WatchedPhase[] = ["rollout", "train", "validation", "hook", "any"];

/** Completes and checks what the hook is made with. */
export function planOf(options: WatchdogOptions): WatchdogPlan {
  checkNames(kind, options, ["name", "deadlines", "onExceeded", "file"]);
  const { name = "watchdog", deadlines, onExceeded = "report", file } = options;
  if (typeof deadlines !== "object" || deadlines === null)
    throw badOption(kind, `deadlines is ${shown(deadlines)}`, "give seconds: deadlines: { train: 600 }");
  checkNames(`${kind}: deadlines`, deadlines, known);
  const given = known.filter((phase) => deadlines[phase] !== undefined);
  if (given.length === 0)
    throw badOption(kind, "there is no deadline", "give one: deadlines: { any: 600 }; or leave the hook out");
  for (const phase of given) {
    const seconds = deadlines[phase];
    if (!(typeof seconds === "number" && seconds > 0 && Number.isFinite(seconds)))
      throw badOption(kind, `deadlines.${phase} is ${shown(seconds)}`, "give seconds, more than 0");
  }
  if (file !== undefined && (typeof file !== "string" || file === ""))
    throw badOption(kind, `file is ${shown(file)}`, "give the path of a file");
  const onReport = typeof onExceeded === "function" ? onExceeded : undefined;
  const exit = !onReport && checkWord(kind, "onExceeded", onExceeded, ["report", "exit"]) === "exit";
  const phases = given.some((phase) => phase === "rollout" || phase === "train" || phase === "hook");
  return { name, deadlines, exit, onReport, file, phases };
}
