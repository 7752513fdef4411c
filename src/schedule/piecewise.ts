import { badOption, shown } from "../core/index.ts";
import { checkCount, checkNumber, takeUnit } from "./options.ts";
import type { Ramp } from "./ramp.ts";
import { straight } from "./shapes.ts";
import { countOf, type InUnit } from "./units.ts";

/** Values and when they begin, in one unit. */
export type PiecewiseOptions = InUnit<
  readonly (readonly [at: number, value: number])[],
  {
    /** Whether to go from each value to the next in a straight line instead of at once. */
    readonly interpolate?: boolean | undefined;
  }
>;

/**
 * A value from each of these times on; with `interpolate`, straight lines from one to the next. Before the first time
 * it has the first value, after the last time the last.
 *
 * @example
 * ```ts
 * piecewise({ epochs: [[0, 1e-3], [30, 1e-4], [60, 1e-5]] });
 * piecewise({ updates: [[0, 0], [100, 1e-3], [900, 1e-3], [1000, 0]], interpolate: true }); // warm up, hold, decay
 * ```
 */
export function piecewise(options: PiecewiseOptions): Ramp {
  const example = "piecewise({ epochs: [[0, 1e-3], [30, 1e-4]] })";
  const { unit, value } = takeUnit("piecewise", options, ["interpolate"], example);
  const { interpolate = false } = options;
  if (typeof interpolate !== "boolean")
    throw badOption("piecewise", `interpolate is ${shown(interpolate)}`, "give true or false");
  const { times, values } = checkPieces(unit, value, example);
  const last = times.length - 1;
  return {
    units: [unit],
    at(counters) {
      const now = countOf(counters, unit);
      let piece = 0;
      while (piece < last && now >= (times[piece + 1] as number)) piece++;
      const [start, here] = [times[piece] as number, values[piece] as number];
      if (!interpolate || piece === last) return here;
      const next = times[piece + 1] as number;
      return straight(here, values[piece + 1] as number, (now - start) / (next - start));
    },
    describe: () => {
      const rest = times.slice(1).map((time, i) => `${values[i + 1]} ${interpolate ? "at" : "from"} ${time}`);
      const words = [`${values[0]}`, ...rest].join(", ");
      return `${interpolate ? "lines through" : "piecewise"} ${words} ${unit}`;
    },
  };
}

function checkPieces(unit: string, pieces: unknown, example: string) {
  if (!Array.isArray(pieces) || pieces.length === 0)
    throw badOption(
      "piecewise",
      `${unit} is ${shown(pieces)}, which is not a list of times and values`,
      `write ${example}`,
    );
  const times: number[] = [];
  const values: number[] = [];
  for (const piece of pieces as readonly unknown[]) {
    if (!Array.isArray(piece) || piece.length !== 2)
      throw badOption("piecewise", `${shown(piece)} is not a time and a value`, `write ${example}`);
    const time = checkCount("piecewise", `a time in ${unit}`, piece[0], unit, 0);
    const before = times.at(-1);
    if (before !== undefined && time <= before)
      throw badOption(
        "piecewise",
        `${time} does not come after ${before}`,
        "give the times in order, each once",
      );
    times.push(time);
    values.push(checkNumber("piecewise", `the value from ${time} ${unit} on`, piece[1]));
  }
  return { times, values };
}
