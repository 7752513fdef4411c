import type { Histogram } from "../record.ts";

/** Bucket borders grow by a tenth, as TensorBoard's own do; what is nearer to 0 than the first counts as 0. */
const growth = Math.log(1.1);
const smallest = 1e-12;
const zero = 0;

/** The number of a value's bucket: its sign, and how often the smallest border grew. */
function bucketOf(value: number): number {
  const size = Math.abs(value);
  if (size < smallest) return zero;
  const index = 1 + Math.floor(Math.log(size / smallest) / growth);
  return value < 0 ? -index : index;
}

const borderAt = (index: number): number => smallest * Math.exp((index - 1) * growth);

/** Where a bucket begins and ends. */
function bordersOf(bucket: number): readonly [number, number] {
  if (bucket === zero) return [-smallest, smallest];
  return bucket > 0 ? [borderAt(bucket), borderAt(bucket + 1)] : [-borderAt(1 - bucket), -borderAt(-bucket)];
}

/** Gathers any number of numbers in bounded room. */
export class HistogramBuilder {
  count = 0;
  notFinite = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  /** -0 plus a number is that number, also where it is -0. */
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
    if (count === 0) return { edges: [], counts: [], min: 0, max: 0, sum: 0, sumSquares: 0, count: 0 };
    return { edges, counts, min, max, sum, sumSquares, count };
  }
}
