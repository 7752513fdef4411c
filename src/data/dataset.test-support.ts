import { fromIterable } from "./sources.ts";

/** A dataset with a function of its own, for threads. */
export const countTo = ({ n }: { readonly n: number }) =>
  fromIterable(Array.from({ length: n }, (_, i) => i)).map((row) => 2 * row);
