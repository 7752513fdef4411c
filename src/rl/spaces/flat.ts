import { EspalierError } from "../../core/index.ts";
import { whyOutside } from "./contains.ts";
import {
  actionSize,
  boundAt,
  boxSize,
  type Dict,
  flatSize,
  leavesOf,
  type Numbers,
  partNames,
  partOf,
  type Space,
  type SpaceValue,
  type ValueIn,
} from "./space.ts";

type Parts = Readonly<Record<string, SpaceValue>>;

/**
 * Writes an observation into a flat row (see `flatSize`) from `at` on, and returns the index after it. It checks the
 * count of numbers and nothing else, and allocates nothing.
 */
export function writeFlat(space: Space, value: SpaceValue, into: Float32Array, at: number): number {
  switch (space.kind) {
    case "box":
      return writeNumbers(space, value as Numbers, boxSize(space), into, at);
    case "discrete": {
      const end = writeOneHot(value as number, space.n, into, at);
      if (Number.isNaN(end)) throw misfit(space, value);
      return end;
    }
    case "multiDiscrete": {
      const chosen = value as Numbers;
      if (chosen.length !== space.choices.length) throw misfit(space, value);
      let end = at;
      for (let i = 0; i < chosen.length; i++)
        end = writeOneHot(chosen[i] as number, space.choices[i] as number, into, end);
      if (Number.isNaN(end)) throw misfit(space, value);
      return end;
    }
    case "dict":
      return writeParts(space, value as Parts, into, at, writeFlat);
  }
}

/**
 * Writes an action into a flat row (see `actionSize`), as {@link readAction} reads it. Returns the index after it.
 */
export function writeAction(space: Space, value: SpaceValue, into: Float32Array, at: number): number {
  switch (space.kind) {
    case "box":
      return writeNumbers(space, value as Numbers, boxSize(space), into, at);
    case "discrete":
      if (typeof value !== "number") throw misfit(space, value);
      into[at] = value;
      return at + 1;
    case "multiDiscrete":
      return writeNumbers(space, value as Numbers, space.choices.length, into, at);
    case "dict":
      return writeParts(space, value as Parts, into, at, writeAction);
  }
}

function writeNumbers(space: Space, value: Numbers, size: number, into: Float32Array, at: number): number {
  if (value.length !== size) throw misfit(space, value);
  for (let i = 0; i < size; i++) {
    const number: unknown = value[i];
    // null, "1" and [1] would become numbers.
    if (typeof number !== "number") throw misfit(space, value);
    into[at + i] = number;
  }
  return at + size;
}

/** Returns the index after it; NaN if the value is no choice. */
function writeOneHot(value: number, n: number, into: Float32Array, at: number): number {
  if (!(Number.isInteger(value) && value >= 0 && value < n)) return Number.NaN;
  for (let i = 0; i < n; i++) into[at + i] = i === value ? 1 : 0;
  return at + n;
}

function writeParts(
  space: Dict,
  value: Parts,
  into: Float32Array,
  at: number,
  write: typeof writeFlat,
): number {
  let end = at;
  for (const name of partNames(space)) {
    const part = value[name];
    if (part === undefined) throw misfit(space, value);
    end = write(partOf(space, name), part, into, end);
  }
  return end;
}

function misfit(space: Space, value: SpaceValue): EspalierError {
  const why = whyOutside(space, value) ?? "it does not fit";
  return new EspalierError("SPACE_MISMATCH", `this value is not of its space: ${why}`, {
    fix: "give a value as the space describes it, or describe the space as the values are",
  });
}

/**
 * Reads the action in a row, as an environment's `step` takes it: a whole number, whole numbers (Int32Array), numbers
 * (Float32Array), or such values by name. It shares no memory with the row.
 */
export const readAction = <S extends Space>(space: S, row: Float32Array, at: number): ValueIn<S> =>
  read(space, row, at) as ValueIn<S>;

function read(space: Space, row: Float32Array, at: number): SpaceValue {
  switch (space.kind) {
    case "discrete":
      return row[at] as number;
    case "multiDiscrete":
      return Int32Array.from(row.subarray(at, at + space.choices.length));
    case "box":
      return row.slice(at, at + boxSize(space));
    case "dict": {
      const parts: Record<string, SpaceValue> = {};
      let from = at;
      for (const name of partNames(space)) {
        const part = partOf(space, name);
        parts[name] = read(part, row, from);
        from += actionSize(part);
      }
      return parts;
    }
  }
}

/** The greatest finite number in single precision. */
const most = 3.4028234663852886e38;

/**
 * The bounds of every number of a flat row, in single precision. Without a bound it is that of finite numbers, so that
 * every number between low and high is finite.
 */
export function flatBounds(space: Space): {
  readonly low: Float32Array;
  readonly high: Float32Array;
  /** Numbers between these lie within all bounds: a quick check if bounds are alike. */
  readonly least: number;
  readonly greatest: number;
} {
  const size = flatSize(space);
  const [low, high] = [new Float32Array(size).fill(-most), new Float32Array(size).fill(most)];
  for (const { space: part, from, size } of leavesOf(space)) {
    // Choices are written as ones and zeros.
    if (part.kind !== "box") continue;
    for (let i = 0; i < size; i++) {
      low[from + i] = Math.max(-most, boundAt(part.low, i));
      high[from + i] = Math.min(most, boundAt(part.high, i));
    }
  }
  const least = low.reduce((a, b) => Math.max(a, b), -most);
  const greatest = high.reduce((a, b) => Math.min(a, b), most);
  return { low, high, least, greatest };
}
