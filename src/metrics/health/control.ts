/**
 * Control of a run from outside, through files of its directory:
 *
 *     control/requests/ID.json   a request, put there whole (written beside, renamed): a ControlRequest with id, who, at
 *     control/state.json         what the run is doing and what can be told to it: a ControlState, replaced as it changes
 *     control/journal.jsonl      one ControlRecord a line: what was applied or refused, at which counters; only added to
 *
 * The files and what may stand in them are here; what a run does with requests is in control-hook.ts.
 */
import {
  EspalierError,
  errorText,
  isPlainObject,
  makeDirectory,
  messageOf,
  node,
  option,
  optionProblems,
  printable,
} from "../../core/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Outcome } from "../../trainer/index.ts";

/** A command to a run. */
export type ControlAction =
  | { readonly action: "pause" | "resume" | "stop" | "checkpoint" | "evaluate" }
  /** A ramp of the task, such as `learningRate`, has this value from now on; null: that of its own again. */
  | { readonly action: "set"; readonly ramp: string; readonly value: number | null }
  | { readonly action: "enable" | "disable"; readonly hook: string };

/** A request, as it lies in the directory. */
export type ControlRequest = ControlAction & {
  readonly id: string;
  /** The person or program that asks: shown and stored, never trusted. */
  readonly who: string;
  /** Milliseconds since 1970. */
  readonly at: number;
};

/** A file among the requests that is none: its name stands for its id. */
export interface UnreadableRequest {
  readonly action: "unreadable";
  readonly id: string;
  readonly who: string;
  readonly at: number;
}

/** The answer to a request. */
export interface ControlRecord {
  readonly request: ControlRequest | UnreadableRequest;
  readonly outcome: "applied" | "refused";
  /** Why it was refused, or what was done. */
  readonly message: string;
  /** Where the run was. A replay applies it at the same batch. */
  readonly counters: Counters;
  /** Milliseconds since 1970 at which it was applied. */
  readonly wall: number;
}

/** The state of a run, and the commands that it takes. */
export interface ControlState {
  readonly state: "running" | "paused" | "ended";
  /** How it ended. */
  readonly outcome?: Outcome;
  readonly pid: number;
  /** Milliseconds since 1970 at which this was written. */
  readonly wall: number;
  readonly counters: Counters;
  /** The task's ramps: value now, and the one that was set from outside, if any. */
  readonly ramps: Readonly<Record<string, { readonly value: number; readonly set: number | null }>>;
  /** `fixed` are those that cannot be disabled: they answer requests. */
  readonly hooks: Readonly<Record<string, { readonly enabled: boolean; readonly fixed?: boolean }>>;
  /** Hooks that `checkpoint` and `evaluate` run; empty where there are none. */
  readonly checkpoints: readonly string[];
  readonly evaluations: readonly string[];
}

/** The name of the hook that answers requests. */
export const hookName = "control";

/** True of the hooks that answer requests: disabled, they could not be enabled again. */
export const isFixed = (hook: string): boolean => hook === hookName || hook.startsWith(`${hookName}.`);

/** Refuses a request that no run can do. */
export function checkAction(request: ControlAction): void {
  if ("hook" in request && isFixed(request.hook))
    throw new EspalierError("CONTROL_REFUSED", "the hook that answers requests stays enabled");
}

/** A request as it was read, or why it is none. */
export type ReadRequest = { readonly file: string } & (
  | { readonly request: ControlRequest; readonly problem?: undefined }
  | { readonly request: UnreadableRequest; readonly problem: string }
);

/** Bytes of a request: far more than any needs. */
const largest = 16_384;

/** The files of a run's directory through which it is controlled. */
export class ControlFiles {
  readonly #requests: string;
  readonly #journal: string;
  /** Where the state is. */
  readonly state: string;

  constructor(directory: string) {
    const { join } = node.path;
    this.#requests = join(directory, "control", "requests");
    this.#journal = join(directory, "control", "journal.jsonl");
    this.state = join(directory, "control", "state.json");
  }

  /** Makes the directories. */
  begin(): void {
    makeDirectory(this.#requests);
  }

  /** The names of requests that wait. Files that are still being written have other names. */
  async waiting(): Promise<readonly string[]> {
    const names = await node.fs.promises.readdir(this.#requests);
    return names.filter((name) => name.endsWith(".json") && !name.startsWith("."));
  }

  /** Reads a request, whatever lies there. */
  read(file: string): ReadRequest {
    const { fs } = node;
    const path = node.path.join(this.#requests, file);
    const id = file.slice(0, -".json".length);
    let problem: string;
    try {
      const found = fs.lstatSync(path);
      if (!found.isFile()) problem = "it is no file";
      else if (found.size > largest)
        problem = `it has ${found.size} bytes, and a request has ${largest} at most`;
      else {
        const request: unknown = JSON.parse(fs.readFileSync(path, "utf8"));
        const found = problemOf(request, id);
        if (found === undefined) return { file, request: request as ControlRequest };
        problem = found;
      }
    } catch (cause) {
      problem = `it cannot be read: ${messageOf(cause)}`;
    }
    const request = { action: "unreadable", id: printable(id, 100), who: "unknown", at: 0 } as const;
    return { file, request, problem: printable(problem, 500) };
  }

  /** Puts a request there, whole. */
  put(request: ControlRequest): void {
    const { fs, path } = node;
    const beside = path.join(this.#requests, `.${request.id}.tmp`);
    fs.writeFileSync(beside, JSON.stringify(request), { flag: "wx" });
    fs.renameSync(beside, path.join(this.#requests, `${request.id}.json`));
  }

  /** Removes a request that was answered. */
  remove(file: string): void {
    node.fs.rmSync(node.path.join(this.#requests, file), { force: true });
  }

  /** The journal's records in the order in which the run comes to them. A line that a crash left incomplete is none. */
  records(warn: (text: string) => void): readonly ControlRecord[] {
    return inOrder(recordsIn(this.#journal, warn));
  }

  /** Adds a record behind all others, and waits until it is on the disk. */
  append(record: ControlRecord): void {
    const { fs } = node;
    const file = fs.openSync(this.#journal, "a+");
    try {
      // What a crash left incomplete would make this line unreadable.
      const { size } = fs.fstatSync(file);
      const last = Buffer.alloc(1);
      if (size > 0) fs.readSync(file, last, 0, 1, size - 1);
      fs.writeSync(file, `${size > 0 && last[0] !== 10 ? "\n" : ""}${JSON.stringify(record)}\n`);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }

  /** Puts the journal of an earlier run aside. */
  setAside(wall: number): void {
    node.fs.renameSync(this.#journal, this.#journal.replace(/\.jsonl$/, `-${wall}.jsonl`));
  }

  /** How the run before ended; undefined where it did not, or there was none. */
  outcomeBefore(): Outcome | undefined {
    try {
      const { state, outcome } = JSON.parse(node.fs.readFileSync(this.state, "utf8")) as ControlState;
      return state === "ended" ? outcome : undefined;
    } catch {
      return undefined;
    }
  }
}

/**
 * The journal of a run's directory, every request with its answer: `controlHook({ replay })` does it again.
 *
 * @example
 * ```ts
 * const hook = controlHook({ replay: controlJournal("runs/cartpole-20260131-120000-a1b2c3") });
 * ```
 */
export const controlJournal = (directory: string): readonly ControlRecord[] =>
  new ControlFiles(directory).records((text) => {
    throw new EspalierError("CONTROL_JOURNAL", `this is no journal of a run: ${text}`, {
      fix: "bring back the journal as the run wrote it: control/journal.jsonl",
    });
  });

function recordsIn(file: string, warn: (text: string) => void): readonly ControlRecord[] {
  let text: string;
  try {
    text = node.fs.readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cause;
  }
  const lines = text.split("\n");
  lines.pop(); // The end of the last line, or what a crash left of one.
  return lines.flatMap((line, i) => {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      // As a line that is no record.
    }
    if (isRecord(record)) return [record];
    warn(`${file}: line ${i + 1} is no record, and is left out: ${printable(line, 80)}`);
    return [];
  });
}

/**
 * The records of a run that may have gone back to a checkpoint and been told something before it came again to what it
 * had been told.
 */
function inOrder(lines: readonly ControlRecord[]): readonly ControlRecord[] {
  const records: ControlRecord[] = [];
  for (const record of lines) {
    const isLater = ({ counters }: ControlRecord): boolean => counters.batches > record.counters.batches;
    const later = records.some(isLater) ? records.splice(records.findIndex(isLater)) : [];
    records.push(record, ...later.filter((each) => !replaces(record, each)));
  }
  return records;
}

/**
 * True where a record takes the place of a later one that was there before: the newest word about a ramp or a hook
 * counts, and nothing comes after a stop.
 */
export function replaces({ request, outcome }: ControlRecord, { request: later }: ControlRecord): boolean {
  if (outcome === "refused") return false;
  if (request.action === "stop") return true;
  if ("ramp" in request) return "ramp" in later && later.ramp === request.ramp;
  return "hook" in request && "hook" in later && later.hook === request.hook;
}

/** True for records of a journal. */
export function isRecord(value: unknown): value is ControlRecord {
  const { request, outcome, counters } = (isPlainObject(value) ? value : {}) as Partial<ControlRecord>;
  return (
    (outcome === "applied" || outcome === "refused") &&
    Number.isSafeInteger(counters?.batches) &&
    typeof request?.id === "string" &&
    (request.action === "unreadable" || outcome === "refused" || problemOf(request, request.id) === undefined)
  );
}

const isText = (value: unknown, longest: number): boolean =>
  typeof value === "string" && value !== "" && value.length <= longest;
const name = option.made("a name", (value) => isText(value, 200), { required: true });
const common = {
  id: option.made(
    "the name of its file: letters, digits, - and _, 100 at most",
    (value) => typeof value === "string" && /^[\w-]{1,100}$/.test(value),
    { required: true },
  ),
  who: option.made("a text of 200 characters at most", (value) => isText(value, 200), { required: true }),
  at: option.number({ min: 0, required: true }),
  action: option.oneOf(["pause", "resume", "stop", "checkpoint", "evaluate", "set", "enable", "disable"], {
    required: true,
  }),
};
const value = option.made(
  "a number that 32 bits hold, or null",
  (given) => given === null || (typeof given === "number" && Number.isFinite(Math.fround(given))),
  { required: true },
);
const hook = { ...common, hook: name };
const tables: Readonly<Record<string, Parameters<typeof optionProblems>[2]>> = {
  set: { ...common, ramp: name, value },
  enable: hook,
  disable: hook,
};

/** The reason for which a value is no request; undefined where it is one. */
function problemOf(request: unknown, id: string): string | undefined {
  if (!isPlainObject(request)) return "it is no object";
  const { action, id: own } = request as Partial<ControlRequest>;
  const table = tables[String(action)] ?? common;
  const problems = optionProblems("request", request, table).map(({ error }) => errorText(error));
  if (own !== id) problems.push("its id is not the name of its file");
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** A request in words: "set learningRate to 0.01". */
export function actionText(request: ControlRequest | UnreadableRequest): string {
  switch (request.action) {
    case "set":
      return `set ${request.ramp} to ${request.value ?? "its own value"}`;
    case "enable":
    case "disable":
      return `${request.action} ${request.hook}`;
    default:
      return request.action;
  }
}

/**
 * Puts a request into a run's directory, whole, where its control hook finds it. The time is the one at which it is put
 * there: requests are applied in that order. What is no request is an error with the code CONTROL_REQUEST, and what no
 * run can do one with the code CONTROL_REFUSED.
 */
export function putRequest(directory: string, given: unknown): ControlRequest {
  const request = (isPlainObject(given) ? { ...given, at: Date.now() } : given) as ControlRequest;
  const problem = problemOf(request, request?.id);
  if (problem !== undefined)
    throw new EspalierError("CONTROL_REQUEST", `this is no request: ${printable(problem, 500)}`, {
      fix: 'write { action: "pause", id, who }, with an id of your own making',
    });
  checkAction(request);
  new ControlFiles(directory).put(request);
  return request;
}
