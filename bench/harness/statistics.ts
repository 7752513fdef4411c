export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export const mean = (samples: readonly number[]): number =>
  samples.reduce((sum, sample) => sum + sample, 0) / samples.length;

/** Of the samples as a sample: divided by one less than their number. */
export function deviation(samples: readonly number[]): number {
  const middle = mean(samples);
  return Math.sqrt(samples.reduce((sum, sample) => sum + (sample - middle) ** 2, 0) / (samples.length - 1));
}

/** Three significant digits, without an exponent. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 100 || value === 0) return value.toFixed(0);
  return value.toFixed(Math.min(6, 2 - Math.floor(Math.log10(size))));
}
