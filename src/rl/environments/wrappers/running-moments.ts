import type { StateTree } from "../../../state/index.ts";

/**
 * Mean and variance of all that was seen, number by number, as Gymnasium's RunningMeanStd counts them: it begins with a
 * mean of 0 and a variance of 1 that weigh a ten-thousandth of a sample. Kept in double precision.
 */
export class RunningMoments {
  readonly mean: Float64Array;
  readonly variance: Float64Array;
  #count = 1e-4;

  constructor(size: number) {
    this.mean = new Float64Array(size);
    this.variance = new Float64Array(size).fill(1);
  }

  add(sample: ArrayLike<number>): void {
    const before = this.#count;
    const total = before + 1;
    for (let i = 0; i < this.mean.length; i++) {
      const off = (sample[i] as number) - (this.mean[i] as number);
      this.mean[i] = (this.mean[i] as number) + off / total;
      this.variance[i] = ((this.variance[i] as number) * before + (off * off * before) / total) / total;
    }
    this.#count = total;
  }

  getState(): StateTree {
    return { mean: this.mean.slice(), variance: this.variance.slice(), count: this.#count };
  }

  setState(state: StateTree): void {
    const { mean, variance, count } = state as {
      readonly mean: Float64Array;
      readonly variance: Float64Array;
      readonly count: number;
    };
    this.mean.set(mean);
    this.variance.set(variance);
    this.#count = count;
  }
}
