/**
 * Live updates. A watched run has one watcher, whoever listens to it, and the list of runs has another:
 *
 *     listen(response, runs)       a client: an open answer that events are written to
 *       watchRun, every 250 ms     values since the last place; new lines of the log, found by their offset
 *                 every second     new rows of events, the state of control and its journal
 *       watchList, every second    runs that have changed since the last look
 *
 * Nothing is read while nobody listens. A client that does not take what it is sent is dropped: it comes again.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { EspalierError, printable } from "../core/index.ts";
import type { RunRow, StatsStore } from "../metrics/index.ts";
import type { ControlRecord, LiveEvents, RunSummary } from "./api.ts";
import { directoryOf, finite, type Runs, readControl, summaryOf } from "./runs.ts";
import { inside, invalid } from "./safety.ts";

/** Milliseconds from one look to the next, at a run and at the list; looks at a run between two at its events. */
const LOOK_EVERY = 250;
const LIST_EVERY = 1000;
const LOOKS_PER_SECOND = 4;
/** Milliseconds after which a client hears that the server is there. */
const COMMENT_EVERY = 15_000;
/** The most clients, and bytes that wait for one of them before it is dropped. */
const MOST_CLIENTS = 500;
const MOST_WAITING = 4_000_000;
const MOST_RUNS_WATCHED = 50;
const MOST_VALUES_AT_ONCE = 5000;

type Send = <K extends keyof LiveEvents>(name: K, event: LiveEvents[K]) => void;

/** Sends what is new since the last look. True where there is more to be read at once. */
type Look = (send: Send) => Promise<boolean>;

export class Live {
  readonly #runs: Runs;
  /** By run; every client hears of the list, which has no name. */
  readonly #watchers = new Map<string, Watcher>();

  constructor(runs: Runs) {
    this.#runs = runs;
  }

  get #clients(): ReadonlySet<ServerResponse> {
    return this.#watchers.get("")?.clients ?? new Set();
  }

  get size(): number {
    return this.#clients.size;
  }

  async listen(response: ServerResponse, ids: readonly string[]): Promise<void> {
    if (this.size >= MOST_CLIENTS)
      throw new EspalierError("DASHBOARD_BUSY", `${MOST_CLIENTS} pages are open already`, {
        fix: "close some of them",
      });
    if (ids.length > MOST_RUNS_WATCHED) throw invalid(`a page can watch ${MOST_RUNS_WATCHED} runs at once`);
    const watchers = [
      this.#watcher("", LIST_EVERY, () => watchList(this.#runs)),
      ...ids.map((id) => this.#watcher(id, LOOK_EVERY, watchRun(this.#runs, id))),
    ];
    for (const { clients } of watchers) clients.add(response);
    let comments: NodeJS.Timeout | undefined;
    response.on("close", () => {
      clearInterval(comments);
      for (const [id, { clients }] of this.#watchers)
        if (clients.delete(response) && clients.size === 0) this.#watchers.delete(id);
    });
    // What is asked for once this answer has begun is older than what is then sent: nothing falls between.
    await Promise.all(watchers.map(({ begun }) => begun));
    if (response.destroyed) return;
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no", // A proxy passes events on as they come.
    });
    const comment = () => response.write(": here\n\n");
    comment();
    comments = setInterval(comment, COMMENT_EVERY).unref();
  }

  #watcher(id: string, every: number, begin: () => Promise<Look>): Watcher {
    const watcher = this.#watchers.get(id) ?? new Watcher(every, begin);
    this.#watchers.set(id, watcher);
    return watcher;
  }

  /** Ends all answers, and with them what watches. */
  close(): void {
    for (const client of this.#clients) client.destroy();
  }
}

/** Looks at something again and again while clients listen, and sends them what is new. */
class Watcher {
  readonly clients = new Set<ServerResponse>();
  /** Resolves when everything that comes from then on is sent. */
  readonly begun: Promise<unknown>;

  /** `begin` notes how things stand, so that the first look finds what came since. */
  constructor(every: number, begin: () => Promise<Look>) {
    // Undefined of a run that is not there yet, or where the store cannot be reached.
    const tryToBegin = () => begin().catch(() => undefined);
    const beginning = tryToBegin();
    this.begun = beginning;
    void beginning.then(async (begun) => {
      let look = begun;
      // What a store that cannot be reached does not tell now, the next look finds. A run that is gone may come again.
      const failed = (error: unknown) => {
        if (isUnknownRun(error)) look = undefined;
        return false;
      };
      while (this.clients.size > 0) {
        await new Promise((resolve) => setTimeout(resolve, every).unref());
        look ??= await tryToBegin();
        while (look && this.clients.size > 0 && (await look(this.#send).catch(failed)));
      }
    });
  }

  #send: Send = (name, event) => {
    const text = `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
    for (const client of this.clients) {
      if (!client.headersSent) continue;
      if (client.writableLength > MOST_WAITING) client.destroy();
      else client.write(text);
    }
  };
}

const isUnknownRun = (error: unknown): boolean =>
  error instanceof EspalierError && error.code === "STATS_UNKNOWN_RUN";

async function watchList(runs: Runs): Promise<Look> {
  const read = async () => {
    const all = (await runs.rows()).map((row) => summaryOf(runs, row));
    return new Map(all.map((run) => [run.id, { run, text: JSON.stringify(run) }]));
  };
  let before = await read();
  return async (send) => {
    const now = await read();
    const changed = [...now].flatMap(([id, { run, text }]) => (before.get(id)?.text === text ? [] : [run]));
    const anew = changed.filter((run) => isAnew(run, before.get(run.id)?.run)).map(({ id }) => id);
    const gone = [...before.keys()].filter((id) => !now.has(id));
    before = now;
    if (changed.length > 0 || gone.length > 0) send("runs", { changed, anew, gone });
    return false;
  };
}

/** True of a run that is new, also under the id of one that was there before, or goes on from an earlier point. */
const isAnew = (run: RunSummary, before: RunSummary | undefined): boolean =>
  before === undefined ||
  run.startedAt !== before.startedAt ||
  run.resumes > before.resumes ||
  Object.entries(before.counters).some(([name, count]) => count > (run.counters[name] ?? 0));

const KINDS_TOLD = ["evaluation", "checkpoint", "replay", "intervention", "decision"] as const;

/** Of a run that was not there at first, everything is new. */
function watchRun(runs: Runs, run: string): () => Promise<Look> {
  let wasMissing = false;
  return async () => {
    const row = await runs.row(run).catch((error: unknown) => {
      wasMissing ||= isUnknownRun(error);
      throw error;
    });
    const place = wasMissing ? 0 : await runs.storeOf(run).place(run);
    return lookAtRun(runs, row, place, await runs.storeOf(run).counts(run));
  };
}

function lookAtRun(
  runs: Runs,
  row: RunRow,
  from: number,
  known: Awaited<ReturnType<StatsStore["counts"]>>,
): Look {
  const run = row.id;
  let [place, counts] = [from, known];
  let directory = directoryOf(runs, row);
  const readLog = tailOf(() => [directory, "run.log"]);
  const readJournal = tailOf(() => journalIn(directory));
  let told = JSON.stringify(readControl(directory));
  let looks = 0;
  return async (send) => {
    const { rows, next } = await runs.storeOf(run).since(run, place, MOST_VALUES_AT_ONCE);
    place = next;
    const series: Record<string, { step: number[]; time: number[]; value: (number | null)[] }> = {};
    for (const { key, step, wall, value } of rows) {
      if (value === undefined) continue;
      series[key] ??= { step: [], time: [], value: [] };
      series[key].step.push(step);
      series[key].time.push(wall);
      series[key].value.push(finite(value));
    }
    if (Object.keys(series).length > 0) send("metrics", { run, series });
    const log = readLog();
    if (log.lines.length > 0) send("log", { run, ...asLog(log) });
    if (looks++ % LOOKS_PER_SECOND === 0) {
      const before = counts;
      counts = await runs.storeOf(run).counts(run);
      for (const kind of KINDS_TOLD) if (counts[kind] > before[kind]) send("event", { run, kind });
      directory = directoryOf(runs, row);
      const state = readControl(directory);
      const records = readJournal().lines.flatMap(recordOf);
      const text = JSON.stringify(state);
      if (state && (text !== told || records.length > 0)) send("control", { run, state, records });
      told = text;
    }
    return rows.length === MOST_VALUES_AT_ONCE;
  };
}

const MOST_ANSWERS = 20;

/** The newest answers of a run to requests. */
export const latestAnswers = (directory: string | undefined): readonly ControlRecord[] =>
  readLines(journalIn(directory)).lines.flatMap(recordOf).slice(-MOST_ANSWERS);

const journalIn = (directory: string | undefined): FileNames => [directory, "control", "journal.jsonl"];

function recordOf(line: string): readonly ControlRecord[] {
  try {
    return [JSON.parse(line) as ControlRecord];
  } catch {
    return [];
  }
}

const MOST_BYTES_AT_ONCE = 64_000;

/** Lines of a run's log. `from` and `to` are offsets in the file, in bytes. */
export interface LogPart {
  readonly lines: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** The last lines of a run's log. */
export const readLog = (directory: string | undefined): LogPart => asLog(readLines([directory, "run.log"]));

/** What would move a cursor is written as an escape. */
const asLog = (part: LogPart): LogPart => ({
  ...part,
  lines: part.lines.map((line) => printable(line.replace(/\r$/, ""), 5000)),
});

/** Reads the new lines of a file that grows, from where it ends now. */
function tailOf(names: () => FileNames): () => LogPart {
  let { to } = readLines(names());
  return () => {
    const part = readLines(names(), to);
    to = part.to;
    return part;
  };
}

/** The directory of a file, and its name below. */
type FileNames = readonly [directory: string | undefined, ...names: string[]];

/** Lines of a file: whole ones from an offset on, or else the last ones. */
function readLines(names: FileNames, offset?: number): LogPart {
  const path = inside(...names);
  if (path === undefined) return { lines: [], from: 0, to: 0 };
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const begin = offset ?? Math.max(0, size - MOST_BYTES_AT_ONCE);
    // A file that is shorter than before was begun again.
    const from = begin > size ? 0 : begin;
    const bytes = Buffer.alloc(Math.min(MOST_BYTES_AT_ONCE, size - from));
    readSync(file, bytes, 0, bytes.length, from);
    // The first line may be cut.
    const first = offset === undefined && from > 0 ? bytes.indexOf(10) + 1 : 0;
    // What follows may be half a line; of the last ones it may be all that a process left.
    const whole = bytes.lastIndexOf(10) + 1;
    const end =
      offset === undefined || (whole === 0 && bytes.length === MOST_BYTES_AT_ONCE) ? bytes.length : whole;
    const lines = bytes.toString("utf8", first, end).replace(/\n$/, "").split("\n");
    return { lines: end === 0 ? [] : lines, from: from + first, to: from + end };
  } finally {
    closeSync(file);
  }
}
