/**
 * Live updates. A watched run has one watcher, whoever listens to it, and the list of runs has another:
 *
 *     listen(response, runs)        a client: an open answer that events are written to
 *       RunWatcher, every 250 ms    values since the last place; new lines of the log, found by their offset
 *                   every second    new rows of events, the state of control and its journal
 *       ListWatcher, every second   runs that have changed since the last look
 *
 * Nothing is read while nobody listens. A client that does not take what it is sent is dropped: it comes again.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { EspalierError, printable } from "../core/index.ts";
import type { RunEventKind } from "../metrics/index.ts";
import type { ControlRecord, LiveEvents, LogPart, RunSummary } from "./api.ts";
import { directoryOf, finite, listRuns, type Runs, readControl } from "./runs.ts";
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
/** The most runs that one client watches. */
const MOST_RUNS = 50;
/** The most values of an event. */
const MOST_VALUES = 5000;

type Send = <K extends keyof LiveEvents>(name: K, event: LiveEvents[K]) => void;

/** All clients that listen, and what watches for them. */
export class Live {
  readonly #runs: Runs;
  readonly #clients = new Map<ServerResponse, readonly Watcher[]>();
  readonly #watchers = new Map<string, Watcher>();
  #comments: NodeJS.Timeout | undefined;

  constructor(runs: Runs) {
    this.#runs = runs;
  }

  /** Clients that listen now. */
  get size(): number {
    return this.#clients.size;
  }

  /** Sends the events of runs to a client until it goes. */
  async listen(response: ServerResponse, ids: readonly string[]): Promise<void> {
    if (this.#clients.size >= MOST_CLIENTS)
      throw new EspalierError("DASHBOARD_BUSY", `${MOST_CLIENTS} pages are open already`, {
        fix: "close some of them",
      });
    if (ids.length > MOST_RUNS) throw invalid(`a page can watch ${MOST_RUNS} runs at once`);
    const watchers = [
      this.#watcher("", () => new ListWatcher(this.#runs)),
      ...[...new Set(ids)].map((id) => this.#watcher(id, () => new RunWatcher(this.#runs, id))),
    ];
    this.#clients.set(response, watchers);
    response.on("close", () => this.#leave(response));
    // What is asked for once this answer has begun is older than what is then sent: nothing falls between.
    await Promise.all(watchers.map((watcher) => watcher.add(response)));
    if (response.destroyed) return;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(": here\n\n");
    this.#comments ??= setInterval(() => {
      for (const client of this.#clients.keys()) if (client.headersSent) client.write(": here\n\n");
    }, COMMENT_EVERY).unref();
  }

  #watcher(id: string, make: () => Watcher): Watcher {
    const watcher = this.#watchers.get(id) ?? make();
    this.#watchers.set(id, watcher);
    return watcher;
  }

  #leave(client: ServerResponse): void {
    for (const watcher of this.#clients.get(client) ?? []) watcher.remove(client);
    this.#clients.delete(client);
    for (const [id, watcher] of this.#watchers) if (watcher.isIdle) this.#watchers.delete(id);
  }

  /** Ends all answers and stops watching. */
  close(): void {
    clearInterval(this.#comments);
    for (const client of [...this.#clients.keys()]) {
      this.#leave(client);
      client.destroy();
    }
  }
}

/** Looks at something again and again while clients listen, and sends them what is new. */
abstract class Watcher {
  readonly #clients = new Set<ServerResponse>();
  readonly #every: number;
  #begun: Promise<boolean> | undefined;
  #watching = false;

  constructor(every: number) {
    this.#every = every;
  }

  /** Notes how things stand, so that the first look finds what came since. */
  protected abstract begin(): Promise<void>;
  /** True where there is more to be read at once. */
  protected abstract look(send: Send): Promise<boolean>;

  get isIdle(): boolean {
    return this.#clients.size === 0;
  }

  /** Resolves when everything that comes from then on is sent. */
  async add(client: ServerResponse): Promise<void> {
    this.#clients.add(client);
    if (!this.#watching) {
      this.#watching = true;
      this.#begun = this.#tryBegin();
      void this.#watch(this.#begun);
    }
    await this.#begun;
  }

  remove(client: ServerResponse): void {
    this.#clients.delete(client);
  }

  /** False of a run that is not there yet, or where the store cannot be reached. */
  #tryBegin(): Promise<boolean> {
    return this.begin().then(
      () => true,
      () => false,
    );
  }

  async #watch(beginning: Promise<boolean>): Promise<void> {
    let begun = await beginning;
    while (!this.isIdle) {
      await new Promise((resolve) => setTimeout(resolve, this.#every).unref());
      // What a store that cannot be reached does not tell now, the next look finds.
      if (begun) while (!this.isIdle && (await this.look(this.#send).catch(() => false)));
      else begun = await this.#tryBegin();
    }
    this.#watching = false;
  }

  #send: Send = (name, event) => {
    const text = `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
    for (const client of this.#clients) {
      if (!client.headersSent) continue;
      if (client.writableLength > MOST_WAITING) client.destroy();
      else client.write(text);
    }
  };
}

/** The list of runs. */
class ListWatcher extends Watcher {
  readonly #runs: Runs;
  #known = new Map<string, string>();

  constructor(runs: Runs) {
    super(LIST_EVERY);
    this.#runs = runs;
  }

  protected async begin(): Promise<void> {
    this.#known = new Map((await listRuns(this.#runs)).map((run) => [run.id, JSON.stringify(run)]));
  }

  protected async look(send: Send): Promise<boolean> {
    const before = this.#known;
    const now = new Map<string, string>();
    const changed: RunSummary[] = [];
    for (const run of await listRuns(this.#runs)) {
      const text = JSON.stringify(run);
      now.set(run.id, text);
      if (before.get(run.id) !== text) changed.push(run);
    }
    this.#known = now;
    const gone = [...before.keys()].filter((id) => !now.has(id));
    if (changed.length > 0 || gone.length > 0) send("runs", { changed, gone });
    return false;
  }
}

/** Kinds of events that are sent as they come. */
const KINDS = ["evaluation", "checkpoint", "replay", "intervention", "decision"] as const;

/** One run. */
class RunWatcher extends Watcher {
  readonly #runs: Runs;
  readonly #run: string;
  #directory: string | undefined;
  #place = 0;
  #log: FileTail | undefined;
  #journal: FileTail | undefined;
  #control = "";
  #rows: Partial<Record<RunEventKind, number>> = {};
  #looks = 0;

  constructor(runs: Runs, run: string) {
    super(LOOK_EVERY);
    this.#runs = runs;
    this.#run = run;
  }

  protected async begin(): Promise<void> {
    const store = this.#runs.storeOf(this.#run);
    this.#directory = directoryOf(this.#runs, await this.#runs.row(this.#run));
    this.#place = await store.place(this.#run);
    this.#rows = await store.counts(this.#run);
    if (this.#directory === undefined) return;
    this.#log = new FileTail(this.#directory, "run.log");
    this.#journal = new FileTail(this.#directory, "control", "journal.jsonl");
    this.#control = JSON.stringify(readControl(this.#directory)) ?? "";
  }

  protected async look(send: Send): Promise<boolean> {
    const run = this.#run;
    const { rows, next } = await this.#runs.storeOf(run).since(run, this.#place, MOST_VALUES);
    this.#place = next;
    const series: Record<string, { step: number[]; time: number[]; value: (number | null)[] }> = {};
    for (const { key, step, wall, value } of rows) {
      if (value === undefined) continue;
      series[key] ??= { step: [], time: [], value: [] };
      series[key].step.push(step);
      series[key].time.push(wall);
      series[key].value.push(finite(value));
    }
    if (Object.keys(series).length > 0) send("metrics", { run, series });
    const log = this.#log?.read();
    if (log && log.lines.length > 0) send("log", { run, ...log });
    if (this.#looks++ % LOOKS_PER_SECOND === 0) {
      await this.#lookAtEvents(send);
      this.#lookAtControl(send);
    }
    return rows.length === MOST_VALUES;
  }

  async #lookAtEvents(send: Send): Promise<void> {
    const store = this.#runs.storeOf(this.#run);
    const counts = await store.counts(this.#run);
    for (const kind of KINDS) {
      const before = this.#rows[kind] ?? 0;
      if (counts[kind] > before) {
        const rows = (await store.list(this.#run, kind)).slice(before, counts[kind]);
        send("event", { run: this.#run, kind, rows });
      }
    }
    this.#rows = counts;
  }

  #lookAtControl(send: Send): void {
    if (this.#directory === undefined) return;
    const state = readControl(this.#directory);
    const text = JSON.stringify(state) ?? "";
    const records = (this.#journal?.read().lines ?? []).flatMap(recordOf);
    if (!state || (text === this.#control && records.length === 0)) return;
    this.#control = text;
    send("control", { run: this.#run, state, records });
  }
}

function recordOf(line: string): readonly ControlRecord[] {
  try {
    return [JSON.parse(line) as ControlRecord];
  } catch {
    return [];
  }
}

/** The most bytes of a file that are read at once. */
const MOST_BYTES = 64_000;

/** A file that grows, read line by line from where it ended when it was first looked at. */
class FileTail {
  readonly #names: readonly [string, ...string[]];
  #offset: number;

  constructor(...names: readonly [string, ...string[]]) {
    this.#names = names;
    this.#offset = withFile(names, (_, size) => size) ?? 0;
  }

  /** New lines that are whole. */
  read(): LogPart {
    let from = this.#offset;
    const lines = withFile(this.#names, (read, size) => {
      // A file that is shorter than before was begun again.
      if (size < this.#offset) from = this.#offset = 0;
      if (size === this.#offset) return [];
      const bytes = read(this.#offset, Math.min(MOST_BYTES, size - this.#offset));
      const end = bytes.lastIndexOf(10) + 1 || (bytes.length === MOST_BYTES ? bytes.length : 0);
      this.#offset += end;
      return linesOf(bytes.subarray(0, end));
    });
    return { lines: lines ?? [], from, to: this.#offset };
  }
}

/** The last lines of a run's log before an offset, of the end without one. */
export function readLog(directory: string, before: number | undefined): LogPart {
  const found = withFile([directory, "run.log"], (read, size) => {
    const to = Math.min(before ?? size, size);
    const from = Math.max(0, to - MOST_BYTES);
    const bytes = read(from, to - from);
    // The first line may be cut.
    const start = from === 0 ? 0 : bytes.indexOf(10) + 1;
    return { lines: linesOf(bytes.subarray(start)), from: from + start, to };
  });
  return found ?? { lines: [], from: 0, to: 0 };
}

/** Whole lines as a page may show them: what would move a cursor is written as an escape. */
const linesOf = (bytes: Buffer): readonly string[] => {
  const lines = bytes.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => printable(line.replace(/\r$/, ""), 5000));
};

/** Opens a file in a directory for as long as `use` runs; undefined where there is none. */
function withFile<T>(
  [directory, ...names]: readonly [string, ...string[]],
  use: (read: (from: number, length: number) => Buffer, size: number) => T,
): T | undefined {
  const path = inside(directory, ...names);
  if (path === undefined) return undefined;
  const file = openSync(path, "r");
  try {
    const read = (from: number, length: number): Buffer => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, from));
    };
    return use(read, fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}
