import type { StateTree } from "../state/index.ts";
import type { Phase } from "./task.ts";
import type { ReportValues } from "./values.ts";

type Metrics = Readonly<Record<string, number>>;

/** Something that reported metrics: one phase of a call, a restored state, or several of these put together. */
interface Source {
  readonly names: readonly string[];
  /** Whether it has a value for every name. A rollout that had nothing to measure reports NaN, which is none. */
  readonly complete: boolean;
  read(): Promise<Metrics>;
  /** What `read` gave. */
  known: Metrics | undefined;
}

/** Above this many sources the older ones are read and put together, without anything waiting for it. */
const most = 16;

/**
 * The newest value of every scalar metric that batches and rollouts reported so far. How the work was cut into calls
 * makes no difference: each metric has the value of the last repeat that reported it. Values stay on the device until
 * they are asked for. Its state is part of the component `trainer`.
 */
export class NewestMetrics {
  /** Oldest first. The list is replaced and never changed, so that a reader keeps the moment it was made in. */
  #sources: readonly Source[] = [];

  /** Takes what a call reported. */
  add(values: ReportValues): void {
    if (values.names.length === 0) return;
    const added = values.lastPhases.flatMap((phase) => sourceOf(values, phase));
    const replaced = new Set(added.flatMap(({ complete, names }) => (complete ? names : [])));
    const kept = this.#sources.filter(({ names }) => names.some((name) => !replaced.has(name)));
    this.#sources = [...(kept.length < most ? kept : [merged(kept)]), ...added];
  }

  /** The names of all metrics so far. */
  get names(): readonly string[] {
    return [...new Set(this.#sources.flatMap(({ names }) => names))].sort();
  }

  /** A function that reads the metrics as they are at this moment, however far the run has come when it is called. */
  reader(): () => Promise<Metrics> {
    const sources = this.#sources;
    return async () => knownOf(sources) ?? readAll(sources);
  }

  /** Waits only where something is still on the device. */
  getState(): StateTree | Promise<StateTree> {
    return knownOf(this.#sources) ?? readAll(this.#sources);
  }

  /** States from before there were metrics in them have none. */
  setState(state: StateTree | undefined): void {
    const known = (state ?? {}) as Metrics;
    this.#sources = [{ names: Object.keys(known), complete: true, read: async () => known, known }];
  }
}

function sourceOf(values: ReportValues, phase: Phase): readonly Source[] {
  const names = values.scalars(phase);
  if (names.length === 0) return [];
  const source: Source = {
    names,
    complete: phase === "train",
    known: undefined,
    read: async () => {
      source.known ??= await values.newest(phase);
      return source.known;
    },
  };
  return [source];
}

/** Sources as one, which begins to read them at once and forgets them when it has. */
function merged(sources: readonly Source[]): Source {
  const source: Source = {
    names: [...new Set(sources.flatMap(({ names }) => names))],
    complete: false,
    known: undefined,
    read: () => reading,
  };
  const reading = readAll(sources).then((metrics) => {
    source.known = metrics;
    return metrics;
  });
  // Whoever reads the metrics is told of a failure.
  reading.catch(() => undefined);
  return source;
}

async function readAll(sources: readonly Source[]): Promise<Metrics> {
  return together(await Promise.all(sources.map((source) => source.read())));
}

function knownOf(sources: readonly Source[]): Metrics | undefined {
  const known: Metrics[] = [];
  for (const source of sources) {
    if (!source.known) return undefined;
    known.push(source.known);
  }
  return together(known);
}

/** Later ones count, and names are sorted: which phase a call had first is a matter of how the work was cut. */
function together(parts: readonly Metrics[]): Metrics {
  const all: Record<string, number> = {};
  for (const part of parts) Object.assign(all, part);
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}
