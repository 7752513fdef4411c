import { pieceOf } from "../ops/piece-of.ts";
import type { JaxArray } from "../trace/op.ts";

/** Up to here a sum is taken at once. */
const longest = 1024;
/** Number of elements that are added in sequence in long sums. */
const part = 128;

/**
 * A sum of floats over axes. jax-js adds one element after the other, and the longer the sum, the more digits of each
 * are lost. So long ones are sums of sums of parts, whose error grows with the logarithm of the length.
 */
export function sumOver(x: JaxArray, axes: readonly number[], atOnce = longest): JaxArray {
  const count = axes.reduce((n, axis) => n * (x.shape[axis] as number), 1);
  if (count <= atOnce) return x.sum([...axes]);
  const pieces: number[] = x.shape.map(() => 1);
  let room = part;
  for (const axis of [...axes].sort((a, b) => b - a)) {
    const length = x.shape[axis] as number;
    const piece = length <= room ? length : pieceOf(length, room);
    const rest = length % piece;
    if (rest > 0) {
      const cut = (y: JaxArray, from: number, to: number) =>
        sumOver(
          y.slice(...y.shape.map((_, i): [] | [number, number] => (i === axis ? [from, to] : []))),
          axes,
          part,
        );
      return cut(x.ref, 0, length - rest).add(cut(x, length - rest, length));
    }
    pieces[axis] = piece;
    room = Math.floor(room / piece);
    if (room < 2) break;
  }
  const split = x.shape.flatMap((length, i) => {
    const piece = pieces[i] as number;
    return piece === 1 ? [{ length }] : [{ length: length / piece }, { length: piece, added: true }];
  });
  const within = split.flatMap(({ added }, i) => (added ? [i] : []));
  const parts = x.reshape(split.map(({ length }) => length)).sum(within);
  return sumOver(parts, axes, part);
}
