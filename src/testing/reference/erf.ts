/** The error function to a double's precision: its series near 0, the continued fraction of its complement beyond. */
export function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  return size < 2.5 ? series(x) : Math.sign(x) * (1 - complement(size));
}

function series(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < 100; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}

function complement(x: number): number {
  let fraction = x;
  for (let n = 80; n >= 1; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}
