/** True for the 1st, 10th, 100th, ... occurrence, so that frequent warnings are printed rarely. */
export const isWorthSaying = (count: number): boolean => /^10*$/.test(String(count));

/** "the 1st", "the 10th", and when it is said again. */
export const countInWords = (count: number): string =>
  `the ${count === 1 ? "1st" : `${count}th`} so far, said again at the ${count * 10}th`;
