/** The circle's circumference over its diameter. */
export const pi = Math.PI;
/** The base of natural logarithms. */
export const e = Math.E;
/** Infinity. */
export const inf = Number.POSITIVE_INFINITY;
/** Not a number. */
export const nan = Number.NaN;
/** A new axis, in indices: `np.slice(x, np.newaxis)`. */
export const newaxis = null;
