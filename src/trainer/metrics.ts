import {
  checkMetricName,
  didYouMean,
  EspalierError,
  followedCategories,
  type MetricName,
  metricParts,
} from "../core/index.ts";
import { read, type Tensor } from "../engine/index.ts";
import { type Adds, advanceCounters, type Counters, type Ramp } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { RowSpan, Values } from "./events.ts";
import type { Phase, Report, Span } from "./task.ts";

// Metrics that calls of the task reported: the rows of one call, the newest value of each, and means over an epoch.
// They stay on the device until they are read.

/** The spans and ramps of a call, and the seconds of the run at which it began and ended. */
interface CallRecord {
  readonly spans: readonly Span[];
  /** The value of each ramp at every repeat. */
  readonly ramps: () => Readonly<Record<string, Float32Array>>;
  readonly began: number;
  readonly ended: number;
}

/** The metrics of one call. They are read once, all together, at the first question. */
export class ReportValues implements Values {
  readonly count: number;
  readonly names: readonly string[];
  readonly #report: Report;
  readonly #rows: number;
  readonly #rolloutRows: number;
  readonly #call: CallRecord;
  #read: Promise<Readonly<Record<string, Float32Array>>> | undefined;

  /** `batches` and `rollouts` are the repeats done in each phase. */
  constructor(report: Report, batches: number, rollouts: number, call: CallRecord) {
    this.count = batches + rollouts;
    this.#call = call;
    this.#report = report;
    this.#rows = batches > 0 ? batches : rollouts;
    this.#rolloutRows = rollouts;
    const { metrics, rollout } = report;
    this.names = rollout ? [...Object.keys(metrics), ...Object.keys(rollout)] : Object.keys(metrics);
  }

  rows(name: string): number {
    if (Object.hasOwn(this.#report.metrics, name)) return this.#rows;
    return this.#report.rollout && Object.hasOwn(this.#report.rollout, name) ? this.#rolloutRows : 0;
  }

  get applied(): Tensor | undefined {
    return this.#report.applied;
  }

  get spans(): readonly RowSpan[] {
    const found: { phase: Phase; from: number; rows: number }[] = [];
    const done = { train: 0, rollout: 0 };
    let left = this.count;
    for (const { segment, count } of this.#call.spans) {
      const rows = Math.min(count, left);
      const { phase } = segment;
      const last = found.at(-1);
      if (rows > 0 && last?.phase === phase) last.rows += rows;
      else if (rows > 0) found.push({ phase, from: done[phase], rows });
      done[phase] += rows;
      left -= rows;
    }
    return found;
  }

  phase(name: string): Phase {
    const batches = this.#rolloutRows < this.count;
    return batches && Object.hasOwn(this.#report.metrics, name) ? "train" : "rollout";
  }

  at(name: string, row: number): Counters {
    const { spans, began, ended } = this.#call;
    const phase = this.phase(name);
    const { counted } = this.#report;
    let [left, before, rollouts] = [row, 0, 0];
    for (const { segment, count, at } of spans) {
      if (segment.phase === phase) {
        if (left < count) {
          const share = (before + left + 1) / this.count;
          const here = advanceCounters(at, segment.adds, left + 1, began + (ended - began) * share);
          if (phase === "rollout") rollouts += left + 1;
          return counted ? advanceCounters(here, countedIn(counted, 0, rollouts), 1) : here;
        }
        left -= count;
      }
      if (segment.phase === "rollout") rollouts += count;
      before += count;
    }
    throw new RangeError(`there is no row ${row} of "${name}"`);
  }

  get ramps(): Readonly<Record<string, Float32Array>> {
    const repeats: number[] = [];
    let before = 0;
    for (const { segment, count } of this.#call.spans) {
      const end = Math.min(before + count, this.count);
      if (segment.phase === "train") for (let i = before; i < end; i++) repeats.push(i);
      before += count;
    }
    return Object.fromEntries(
      Object.entries(this.#call.ramps()).map(([name, all]) => [
        name,
        Float32Array.from(repeats, (repeat) => all[repeat] as number),
      ]),
    );
  }

  tensor(name: string): Tensor | undefined {
    return this.#report.metrics[name] ?? this.#report.rollout?.[name];
  }

  read(): Promise<Readonly<Record<string, Float32Array>>> {
    this.#read ??= this.#readAll();
    return this.#read;
  }

  async #readAll(): Promise<Readonly<Record<string, Float32Array>>> {
    const { metrics, rollout = {} } = this.#report;
    const arrays = await read({ ...metrics, ...rollout } as Readonly<Record<string, Tensor>>);
    return Object.fromEntries(
      this.names.map((name) => {
        const { shape, size, type } = this.tensor(name) as Tensor;
        if ((shape[0] ?? 0) < this.rows(name)) throw tooShort(name, type.text, this.rows(name));
        const length = this.rows(name) * (size / Math.max(1, shape[0] ?? 1));
        const array = arrays[name] as ArrayLike<number>;
        const numbers = array instanceof Float32Array ? array : Float32Array.from(array, Number);
        return [name, numbers.subarray(0, length)];
      }),
    );
  }

  async last(): Promise<Readonly<Record<string, number>>> {
    const arrays = await this.read();
    const scalars = [...this.scalars("train"), ...this.scalars("rollout")];
    return Object.fromEntries(scalars.map((name) => [name, arrays[name]?.at(-1) as number]));
  }

  /** The phases that were done, in the order in which they ended. */
  get lastPhases(): readonly Phase[] {
    const phases = new Set<Phase>();
    for (const { phase } of this.spans) {
      phases.delete(phase);
      phases.add(phase);
    }
    return [...phases];
  }

  /** The metrics that are one number per repeat of a phase. One without rows is among them: reading refuses it. */
  scalars(phase: Phase): readonly string[] {
    return this.names.filter(
      (name) => this.phase(name) === phase && (this.tensor(name)?.ndim ?? 2) < 2 && this.rows(name) > 0,
    );
  }

  /** The newest of each. A rollout that had nothing to measure reports NaN: then the one before it counts. */
  async newest(phase: Phase): Promise<Readonly<Record<string, number>>> {
    const arrays = await this.read();
    const found: Record<string, number> = {};
    for (const name of this.scalars(phase)) {
      const rows = arrays[name] as Float32Array;
      let row = rows.length - 1;
      while (phase === "rollout" && row >= 0 && Number.isNaN(rows[row])) row--;
      if (row >= 0) found[name] = rows[row] as number;
    }
    return found;
  }
}

/** The sum of what some rollouts counted. */
export function countedIn(
  counted: Readonly<Record<string, ArrayLike<number>>>,
  from: number,
  to: number,
): Adds {
  const sums: Record<string, number> = {};
  for (const name in counted) {
    let sum = 0;
    for (let i = from; i < to; i++) sum += (counted[name] as ArrayLike<number>)[i] ?? 0;
    sums[name] = sum;
  }
  return sums;
}

const tooShort = (name: string, type: string, rows: number): EspalierError =>
  new EspalierError(
    "TASK_INVALID",
    `the task reported "${name}" as ${type}, which has no ${rows} rows on its first axis`,
    { fix: "stack what the repeats gave: the first axis of a reported value is the repeat" },
  );

type Metrics = Readonly<Record<string, number>>;

/** Something that reported metrics: one phase of a call, a restored state, or several of these put together. */
interface Source {
  readonly names: readonly string[];
  /** True where it has a value for every name. A rollout that had nothing to measure reports NaN, which is none. */
  readonly complete: boolean;
  read(): Promise<Metrics>;
  /** The result of `read`, once there is one. */
  known: Metrics | undefined;
}

/** Above this many sources the older ones are read and put together, without anything waiting for it. */
const mostSources = 16;

/**
 * The newest value of every scalar metric that batches and rollouts reported so far. How the work was cut into calls
 * makes no difference: each metric has the value of the last repeat that reported it. Values stay on the device until
 * they are asked for. Its state is part of the component `trainer`.
 */
export class NewestMetrics {
  /** Oldest first. The list is replaced and never changed, so that a reader keeps the moment it was made in. */
  #sources: readonly Source[] = [];

  /** Takes the metrics of a call. */
  add(values: ReportValues): void {
    if (values.names.length === 0) return;
    const added = values.lastPhases.flatMap((phase) => sourceOf(values, phase));
    const replaced = new Set(added.flatMap(({ complete, names }) => (complete ? names : [])));
    const kept = this.#sources.filter(({ names }) => names.some((name) => !replaced.has(name)));
    this.#sources = [...(kept.length < mostSources ? kept : [merged(kept)]), ...added];
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
  // A failure reaches those who read the metrics.
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

type Sum = { readonly total: number; readonly count: number };

/** The prefix by which ramps follow metrics of validations. */
const prefix = "validation/";

/**
 * The name under which checkpoints know a metric that a ramp follows. It was chosen before metrics were named in full,
 * and states and settings keep it: `loss` for `train/loss`, `validation.loss` for `validation/loss`.
 */
export function storedName(full: string): string {
  const { category, name } = metricParts(full) ?? { category: "train", name: full };
  return category === "validation" ? `validation.${name}` : name;
}

/** Something that follows metrics: a ramp, a hook. */
type Follower = Pick<Ramp, "follows" | "observe">;

/**
 * Means over an epoch of the metrics that ramps follow, and of no others. They are kept on the device and read in one go
 * at the epoch's end, the only reading that the loop does by itself. Rows are summed one by one in their order, so that
 * how batches were cut changes nothing.
 */
export class EpochMeans {
  readonly #ramps: Readonly<Record<string, Follower>>;
  readonly #kind: string;
  /** The followed metrics by their full names. */
  readonly #names: ReadonlyMap<string, MetricName>;
  readonly #reported = new Set<string>();
  readonly #unknown = new Set<string>();
  #pending: { readonly name: string; readonly tensor: Tensor; readonly rows: number }[] = [];
  #sums = new Map<string, Sum>();

  /** `kind` is the word for followers in messages. */
  constructor(ramps: Readonly<Record<string, Follower>>, kind = "ramp") {
    this.#ramps = ramps;
    this.#kind = kind;
    this.#names = new Map(
      Object.entries(ramps).flatMap(([ramp, { follows = [] }]) =>
        follows.map((full) => [
          full,
          checkMetricName(`what the ${kind} "${ramp}" follows`, full, followedCategories),
        ]),
      ),
    );
  }

  /** True where a ramp follows anything. */
  get followed(): boolean {
    return this.#names.size > 0;
  }

  add(values: Values): void {
    for (const name of values.names) {
      const full = `${values.phase(name)}/${name}`;
      this.#reported.add(full);
      const tensor = this.#names.has(full) ? values.tensor(name) : undefined;
      if (tensor) this.#pending.push({ name: full, tensor, rows: values.rows(name) });
    }
  }

  /** Takes the metrics of a validation of this epoch; a later one in the same epoch counts. */
  validated(metrics: Readonly<Record<string, number>>): void {
    for (const [full, { category, name }] of this.#names) {
      const value = category === "validation" ? metrics[name] : undefined;
      if (value !== undefined) this.#sums.set(full, { total: value, count: 1 });
    }
  }

  /**
   * Shows the ramps the epoch's means, each metric by its full name, and starts over. `validation` is undefined in epochs
   * that did not validate at their end, and null where none will.
   */
  async observe(
    validation: Readonly<Record<string, number>> | null | undefined,
    warn: (text: string) => void,
  ): Promise<void> {
    await this.#sumUp();
    const metrics: Record<string, number> = {};
    for (const [name, { total, count }] of this.#sums) metrics[name] = total / count;
    for (const [name, value] of Object.entries(validation ?? {})) metrics[`${prefix}${name}`] = value;
    this.#sums = new Map();
    const reported = [...this.#reported, ...Object.keys(validation ?? {}).map((name) => `${prefix}${name}`)];
    for (const [ramp, { follows = [], observe }] of Object.entries(this.#ramps)) {
      for (const name of follows) {
        const later = name.startsWith(prefix) && validation === undefined;
        if (!(name in metrics) && !later) this.#missing(ramp, name, reported, validation !== null, warn);
      }
      if (follows.length > 0) observe?.call(this.#ramps[ramp], metrics);
    }
  }

  #missing(
    ramp: string,
    name: string,
    reported: readonly string[],
    validates: boolean,
    warn: (text: string) => void,
  ): void {
    if (this.#unknown.has(name)) return;
    this.#unknown.add(name);
    warn(
      `the ${this.#kind} "${ramp}" follows "${name}", which this epoch did not report${didYouMean(name, reported)}; ` +
        `reported were ${reported.join(", ") || "no values"}` +
        (validates || !name.startsWith(prefix) ? "" : ", and the run has no validation"),
    );
  }

  async #sumUp(): Promise<void> {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    const arrays = await read(pending.map(({ tensor }) => tensor));
    pending.forEach(({ name, rows }, i) => {
      const array = arrays[i] as ArrayLike<number>;
      let { total, count } = this.#sums.get(name) ?? { total: 0, count: 0 };
      for (let row = 0; row < rows; row++, count++) total += Number(array[row]);
      this.#sums.set(name, { total, count });
    });
  }

  /** The sums so far: waits only where something is still on the device. */
  getState(): StateTree | Promise<StateTree> {
    const now = (): StateTree =>
      Object.fromEntries(Array.from(this.#sums, ([full, sum]) => [this.#stored(full), { ...sum }]));
    return this.#pending.length > 0 ? this.#sumUp().then(now) : now();
  }

  setState(state: StateTree): void {
    this.#pending = [];
    const saved = state as { readonly [stored: string]: Sum };
    this.#sums = new Map(
      [...this.#names.keys()].flatMap((full) => {
        const sum = saved[this.#stored(full)];
        return sum ? [[full, sum] as const] : [];
      }),
    );
  }

  /** The key of a metric in the state: its full name where two that are followed would have the same. */
  #stored(full: string): string {
    const stored = storedName(full);
    const others = [...this.#names.keys()].filter((other) => storedName(other) === stored);
    return others.length > 1 ? full : stored;
  }
}
