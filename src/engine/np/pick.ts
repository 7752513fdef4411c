import { splat } from "../ops/constant.ts";
import { broadcastInDim, concatenate, reverse } from "../ops/shape.ts";
import { slice } from "../ops/slice.ts";
import type { Value } from "../trace/value.ts";
import { range } from "./axes.ts";

interface Run {
  readonly from: number;
  readonly step: number;
  count: number;
}

/** Cuts places into the longest stretches that go up by 1, down by 1, or stay. */
function runsOf(places: readonly number[]): Run[] {
  const runs: Run[] = [];
  places.forEach((place, i) => {
    const run = runs[runs.length - 1];
    if (run && run.count === 1) {
      const step = place - run.from;
      if (Math.abs(step) <= 1) {
        runs[runs.length - 1] = { from: run.from, step, count: 2 };
        return;
      }
    }
    if (run && run.count > 1 && place - (places[i - 1] as number) === run.step) run.count++;
    else runs.push({ from: place, step: 1, count: 1 });
  });
  return runs;
}

/**
 * The elements at places known while tracing, along an axis. Stretches become slices, which engines read faster than
 * a list of indices and whose derivative is a pad.
 */
export function pick(x: Value, axis: number, places: readonly number[]): Value {
  if (places.length === 0) return splat(0, x.dtype, withLength(x, axis, 0));
  const part = ({ from, step, count }: Run): Value => {
    const [low, high] = step >= 0 ? [from, from + (step === 0 ? 1 : count)] : [from - count + 1, from + 1];
    const cut = slice(
      x,
      x.shape.map((_, d) => (d === axis ? low : 0)),
      x.shape.map((n, d) => (d === axis ? high : n)),
    );
    if (step === 0) return broadcastInDim(cut, withLength(x, axis, count), range(x.ndim));
    return step > 0 ? cut : reverse(cut, [axis]);
  };
  return concatenate(runsOf(places).map(part), axis);
}

const withLength = (x: Value, axis: number, length: number): number[] =>
  x.shape.map((n, d) => (d === axis ? length : n));
