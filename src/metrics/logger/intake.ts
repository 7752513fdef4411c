import { EspalierError, shown } from "../../core/index.ts";
import { Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import { checkKind, kindOf, twoWriters } from "./checks.ts";
import { readable } from "./logged-value.ts";
import type { LoggedRows, LoggedValues } from "./logger-options.ts";
import type { Series } from "./series.ts";
import { isTensor, type Read, Timeline, type Waiting } from "./timeline.ts";
import type { Windows } from "./windows.ts";

/** Takes what is logged into windows: at once where it can, in order where some of it is still on the device. */
export class Intake {
  readonly timeline: Timeline;
  /** Values that were undefined or null, and those that could not be read from their device. */
  missing = 0;
  unreadable = 0;
  readonly #windows: Windows;
  readonly #warn: (text: string) => void;

  constructor(windows: Windows, warn: (text: string) => void) {
    this.#windows = windows;
    this.#warn = warn;
    this.timeline = new Timeline(
      (waiting, read) => this.#takeWaiting(waiting, read),
      (error) => this.#lose(error),
    );
  }

  /** Takes values in an owner's name. What is wrong with one of them is raised when the others have been taken. */
  take(values: LoggedValues, at: number | Counters, category: string, owner: string): void {
    const counters = typeof at === "number" ? this.#countersAt(at) : at;
    const known = this.#windows.book.category(category);
    const idle = this.timeline.idle;
    if (idle) this.#windows.moveTo(counters);
    let waiting: { series: Series[]; values: Waiting["values"][number][]; tensors: number } | undefined;
    let bad: unknown;
    for (const name in values) {
      let value = values[name] as Waiting["values"][number] | undefined;
      try {
        if (typeof value !== "number") value = readable(value, category, name);
        if (value === undefined) {
          this.missing++;
          continue;
        }
        const series = known.get(name) ?? this.#windows.book.begin(category, name, kindOf(value), owner);
        if (series.owner !== owner) throw twoWriters(series, owner);
        if (typeof value !== "number" || series.kind !== "number") checkKind(series, kindOf(value));
        const tensor = typeof value === "object" && value instanceof Tensor;
        if (idle && !tensor) {
          this.#windows.fold(series, value as number, counters);
          continue;
        }
        waiting ??= { series: [], values: [], tensors: 0 };
        waiting.series.push(series);
        waiting.values.push(
          typeof value === "object" && !tensor ? Array.from(value as ArrayLike<number>) : value,
        );
        if (tensor) waiting.tensors++;
      } catch (error) {
        // The others are taken all the same.
        bad ??= error;
      }
    }
    if (waiting)
      this.timeline.add(
        { series: waiting.series, values: waiting.values, at: counters, rows: undefined },
        waiting.tensors,
        this.#windows.reached(counters),
      );
    if (bad !== undefined) throw bad;
  }

  /** Takes stacked values in an owner's name. */
  takeRows(
    { values, rows, from = 0, at, nanIsNone = false, reductions = {} }: LoggedRows,
    category: string,
    owner: string,
  ): void {
    if (rows === 0) return;
    const known = this.#windows.book.category(category);
    const names = Object.keys(values);
    const stacks = Object.values(values);
    const series = names.map((name, i) => {
      const stack = stacks[i] as Tensor | Float32Array;
      const kind = stack instanceof Tensor && stack.ndim > 1 ? "many" : "number";
      const found =
        known.get(name) ?? this.#windows.book.begin(category, name, kind, owner, reductions[name]);
      if (found.owner !== owner) throw twoWriters(found, owner);
      checkKind(found, kind);
      return found;
    });
    this.timeline.add(
      { series, values: stacks, at, rows, from, nanIsNone },
      stacks.filter((stack) => stack instanceof Tensor).length,
      this.#windows.reached(at(rows - 1)),
    );
  }

  /** Values whose turn has come. */
  #takeWaiting({ series, values, at, rows, from = 0, nanIsNone }: Waiting, read: Read): void {
    const numbers = values.map((value) => (isTensor(value) ? read(value) : value));
    for (let row = 0; row < (rows ?? 1); row++) {
      const counters = typeof at === "function" ? at(row) : at;
      this.#windows.moveTo(counters);
      for (let i = 0; i < series.length; i++) {
        const value = numbers[i];
        if (value === undefined) continue;
        const tensor = values[i] as Waiting["values"][number];
        const each = series[i] as Series;
        if (rows === undefined) {
          const one = isTensor(tensor) && tensor.size === 1;
          this.#windows.fold(each, one ? Number((value as ArrayLike<number>)[0]) : value, counters);
        } else if (!isTensor(tensor) || tensor.ndim <= 1) {
          const number = Number((value as ArrayLike<number>)[from + row]);
          if (!nanIsNone || !Number.isNaN(number)) this.#windows.fold(each, number, counters);
        } else {
          const size = tensor.size / (tensor.shape[0] as number);
          const start = (from + row) * size;
          this.#windows.fold(each, (value as Float32Array).subarray(start, start + size), counters);
        }
      }
    }
  }

  #countersAt(step: number): Counters {
    const { now } = this.#windows;
    if (step === now.steps) return now;
    if (Number.isFinite(step) && step >= 0) return { ...now, steps: step };
    throw new EspalierError("STEP_INVALID", `the step is ${shown(step)}`, {
      fix: "give a number from 0 on, or the counters of a run",
    });
  }

  #lose(error: unknown): void {
    if (this.unreadable++ === 0)
      this.#warn(`a logged value could not be read from its device and is missing: ${String(error)}`);
  }
}
