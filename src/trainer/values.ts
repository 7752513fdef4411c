import { EspalierError } from "../core/index.ts";
import { read, type Tensor } from "../engine/index.ts";
import { type Adds, advanceCounters, type Counters } from "../schedule/index.ts";
import type { RowStretch, Values } from "./events.ts";
import type { Phase, Report, Span } from "./task.ts";

/** What a call was asked for and given, and the seconds of the run at which it began and ended. */
export interface CallPlace {
  readonly spans: readonly Span[];
  /** The value of each ramp at every repeat. */
  readonly ramps: () => Readonly<Record<string, Float32Array>>;
  readonly began: number;
  readonly ended: number;
}

/** A report's values. They are read once, all together, when somebody first asks. */
export class ReportValues implements Values {
  readonly count: number;
  readonly names: readonly string[];
  readonly #report: Report;
  readonly #rows: number;
  readonly #rolloutRows: number;
  readonly #place: CallPlace;
  #read: Promise<Readonly<Record<string, Float32Array>>> | undefined;

  /** `batches` and `rollouts` are the repeats done in each phase. */
  constructor(report: Report, batches: number, rollouts: number, place: CallPlace) {
    this.count = batches + rollouts;
    this.#place = place;
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

  get stretches(): readonly RowStretch[] {
    const found: { phase: Phase; from: number; rows: number }[] = [];
    const done = { train: 0, rollout: 0 };
    let left = this.count;
    for (const { segment, count } of this.#place.spans) {
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
    const { spans, began, ended } = this.#place;
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
    for (const { segment, count } of this.#place.spans) {
      const end = Math.min(before + count, this.count);
      if (segment.phase === "train") for (let i = before; i < end; i++) repeats.push(i);
      before += count;
    }
    return Object.fromEntries(
      Object.entries(this.#place.ramps()).map(([name, all]) => [
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
    for (const { phase } of this.stretches) {
      phases.delete(phase);
      phases.add(phase);
    }
    return [...phases];
  }

  /** The values that are one number a repeat of a phase. One without rows is among them, for reading refuses it. */
  scalars(phase: Phase): readonly string[] {
    return this.names.filter(
      (name) => this.phase(name) === phase && (this.tensor(name)?.ndim ?? 2) < 2 && this.rows(name) > 0,
    );
  }

  /** The newest of each. A rollout that had nothing to measure gives NaN: there the one before it counts. */
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
