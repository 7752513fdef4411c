import { type Counters, noCounters, timeless } from "../../schedule/index.ts";
import type { Histogram, Reduction } from "../record.ts";

/** The state of an accumulator in a checkpoint. */
export type SavedAccumulator = {
  /** count, notFinite, sum, last, min, max */
  readonly numbers: Float64Array;
  readonly counters: Readonly<Record<string, number>>;
  readonly text?: string;
  readonly histogram?: SavedHistogram;
};

/** The values of one metric in one window. Values that are not finite are counted, and show in the result. */
export class Accumulator {
  count = 0;
  notFinite = 0;
  /** Begins at -0: -0 plus a number is that number, also where it is -0. */
  sum = -0;
  last = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  text: string | undefined;
  histogram: HistogramBuilder | undefined;
  /** Counters at the last value. */
  counters: Counters | undefined;

  add(value: number, counters: Counters): void {
    this.count++;
    this.sum += value;
    this.last = value;
    // NaN is neither smaller nor greater, and must show.
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

  /** The value of the window, which lasted for `seconds`. */
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

  getState(): SavedAccumulator {
    const { count, notFinite, sum, last, min, max, text, histogram, counters } = this;
    return {
      numbers: Float64Array.of(count, notFinite, sum, last, min, max),
      counters: timeless(counters ?? noCounters),
      ...(text !== undefined && { text }),
      ...(histogram && { histogram: histogram.getState() }),
    };
  }

  setState({ numbers, counters, text, histogram }: SavedAccumulator): void {
    const [count = 0, notFinite = 0, sum = -0, last = 0, min = 0, max = 0] = numbers;
    Object.assign(this, { count, notFinite, sum, last, min, max });
    this.counters = { ...noCounters, ...counters };
    if (text !== undefined) this.text = text;
    if (!histogram) return;
    this.histogram = new HistogramBuilder();
    this.histogram.setState(histogram);
  }
}

/** Borders of buckets grow by a tenth, as those of TensorBoard; numbers nearer to 0 than the first count as 0. */
const growth = Math.log(1.1);
const smallest = 1e-12;

/** The index of a value's bucket: 0, or how often the smallest border grew, with the sign of the value. */
function bucketOf(value: number): number {
  const size = Math.abs(value);
  if (size < smallest) return 0;
  const index = 1 + Math.floor(Math.log(size / smallest) / growth);
  return value < 0 ? -index : index;
}

const borderAt = (index: number): number => smallest * Math.exp((index - 1) * growth);

function bordersOf(bucket: number): readonly [from: number, to: number] {
  if (bucket === 0) return [-smallest, smallest];
  return bucket > 0 ? [borderAt(bucket), borderAt(bucket + 1)] : [-borderAt(1 - bucket), -borderAt(-bucket)];
}

type SavedHistogram = {
  /** count, notFinite, min, max, sum, sumSquares */
  readonly sums: Float64Array;
  /** Bucket and count, by turns. */
  readonly buckets: Float64Array;
};

/** Collects any number of numbers in bounded memory. */
class HistogramBuilder {
  count = 0;
  notFinite = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  /** Begins at -0, as that of an accumulator. */
  sum = -0;
  sumSquares = 0;
  readonly buckets = new Map<number, number>();

  add(value: number): void {
    if (!Number.isFinite(value)) {
      this.notFinite++;
      return;
    }
    this.count++;
    this.sum += value;
    this.sumSquares += value * value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    const bucket = bucketOf(value);
    this.buckets.set(bucket, (this.buckets.get(bucket) ?? 0) + 1);
  }

  build(): Histogram {
    const { min, max, sum, sumSquares, count } = this;
    if (count === 0) return { edges: [], counts: [], min: 0, max: 0, sum: 0, sumSquares: 0, count: 0 };
    const edges: number[] = [];
    const counts: number[] = [];
    for (const [bucket, many] of [...this.buckets].sort(([a], [b]) => a - b)) {
      const [from, to] = bordersOf(bucket);
      const before = edges.at(-1);
      if (before === undefined) edges.push(from);
      else if (from > before) {
        // Nothing lies between.
        edges.push(from);
        counts.push(0);
      }
      edges.push(to);
      counts.push(many);
    }
    return { edges, counts, min, max, sum, sumSquares, count };
  }

  getState(): SavedHistogram {
    const { count, notFinite, min, max, sum, sumSquares, buckets } = this;
    return {
      sums: Float64Array.of(count, notFinite, min, max, sum, sumSquares),
      buckets: Float64Array.from([...buckets].flat()),
    };
  }

  setState({ sums, buckets }: SavedHistogram): void {
    const [count = 0, notFinite = 0, min = 0, max = 0, sum = -0, sumSquares = 0] = sums;
    Object.assign(this, { count, notFinite, min, max, sum, sumSquares });
    for (let i = 0; i < buckets.length; i += 2) this.buckets.set(buckets[i] ?? 0, buckets[i + 1] ?? 0);
  }
}
