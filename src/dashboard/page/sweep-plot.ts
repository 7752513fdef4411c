// Trials of a sweep as lines over parallel axes: one for each parameter, the result last.
import type { Sweep } from "../api.ts";

/** An axis with its lowest and highest value, or all values where they are words. `at` is from 0 (below) to 1. */
export interface PlotAxis {
  readonly name: string;
  readonly ticks: readonly { readonly label: string; readonly at: number }[];
}

/** A trial: where it crosses each axis, null where it has no value there. */
export interface PlotLine {
  readonly run: string;
  readonly at: readonly (number | null)[];
}

/**
 * Places values on parallel axes. Numbers are spread evenly, by their logarithm where they are positive and the largest
 * is at least 100 times the smallest; words in alphabetical order.
 */
export function sweepPlot({ metric, parameters, trials }: Sweep): {
  readonly axes: readonly PlotAxis[];
  readonly lines: readonly PlotLine[];
} {
  const columns = [
    ...parameters.map((name) =>
      axisOf(
        name,
        trials.map(({ values }) => values[name] ?? null),
      ),
    ),
    axisOf(
      metric,
      trials.map(({ result }) => (result === null ? null : String(result))),
    ),
  ];
  return {
    axes: columns.map(({ axis }) => axis),
    lines: trials.map(({ run }, trial) => ({ run, at: columns.map(({ at }) => at[trial] ?? null) })),
  };
}

function axisOf(
  name: string,
  values: readonly (string | null)[],
): { readonly axis: PlotAxis; readonly at: readonly (number | null)[] } {
  const given = [...new Set(values.filter((value) => value !== null))];
  const isNumber = (value: string): boolean => value.trim() !== "" && Number.isFinite(Number(value));
  const numbers = given.length > 0 && given.every(isNumber);
  const sorted = numbers ? given.sort((a, b) => Number(a) - Number(b)) : given.sort();
  const [least, most] = [Number(sorted[0]), Number(sorted.at(-1))];
  const scale = numbers && least > 0 && most / least >= 100 ? Math.log : Number;
  const position = (value: string): number => {
    if (sorted.length === 1) return 0.5;
    if (!numbers) return sorted.indexOf(value) / (sorted.length - 1);
    return (scale(Number(value)) - scale(least)) / (scale(most) - scale(least));
  };
  const labels = numbers ? [...new Set([sorted[0], sorted.at(-1)])] : sorted;
  return {
    axis: {
      name,
      ticks: labels.flatMap((label) => (label === undefined ? [] : [{ label, at: position(label) }])),
    },
    at: values.map((value) => (value === null ? null : position(value))),
  };
}
