/** How a number goes from one value to another while `gone` goes from 0 to 1. Exact at both ends, and after them. */
export type Shape = (from: number, to: number, gone: number) => number;

/** In a straight line. */
export const straight: Shape = (from, to, gone) => {
  if (gone <= 0) return from;
  return gone >= 1 ? to : from + (to - from) * gone;
};

/** By half a cosine: slowly at first, slowly at last. */
export const halfCosine: Shape = (from, to, gone) => {
  if (gone <= 0) return from;
  return gone >= 1 ? to : to + ((from - to) * (1 + Math.cos(Math.PI * gone))) / 2;
};
