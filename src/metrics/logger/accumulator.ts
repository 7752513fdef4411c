import type { Counters } from "../../schedule/index.ts";
import type { Histogram, Reduction } from "../record.ts";
import { HistogramBuilder } from "./histogram.ts";

/** The values of one metric in one window. What is not finite is kept: it is counted, and shows in the result. */
export class Accumulator {
  count = 0;
  notFinite = 0;
  /** -0 plus a number is that number, also where it is -0. */
  sum = -0;
  last = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  text: string | undefined;
  histogram: HistogramBuilder | undefined;
  /** Where the last of them was. */
  counters: Counters | undefined;

  add(value: number, counters: Counters): void {
    this.count++;
    this.sum += value;
    this.last = value;
    // NaN is neither smaller nor greater: it must show all the same.
    if (!(value >= this.min)) this.min = value;
    if (!(value <= this.max)) this.max = value;
    if (value - value !== 0) this.notFinite++;
    this.counters = counters;
  }

  addText(text: string, counters: Counters): void {
    this.count++;
    this.text = text;
    this.counters = counters;
  }

  addMany(values: ArrayLike<number>, counters: Counters): void {
    this.histogram ??= new HistogramBuilder();
    for (let i = 0; i < values.length; i++) this.histogram.add(Number(values[i]));
    this.count += values.length;
    this.notFinite = this.histogram.notFinite;
    this.counters = counters;
  }

  /** `seconds` is how long the window was. */
  result(reduction: Reduction, seconds: number): number | string | Histogram {
    if (this.histogram) return this.histogram.build();
    if (this.text !== undefined) return this.text;
    switch (reduction) {
      case "last":
        return this.last;
      case "sum":
        return this.sum;
      case "min":
        return this.min;
      case "max":
        return this.max;
      case "rate":
        return seconds > 0 ? this.sum / seconds : Number.NaN;
      default:
        return this.sum / this.count;
    }
  }

  reset(): void {
    this.count = 0;
    this.notFinite = 0;
    this.sum = -0;
    this.last = 0;
    this.min = Number.POSITIVE_INFINITY;
    this.max = Number.NEGATIVE_INFINITY;
    this.text = undefined;
    this.histogram = undefined;
    this.counters = undefined;
  }
}
