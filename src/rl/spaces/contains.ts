import { shown } from "../../core/index.ts";
import {
  type Box,
  boundAt,
  boxSize,
  type Numbers,
  partNames,
  partOf,
  type Space,
  type SpaceValue,
} from "./space.ts";

/**
 * True if a value lies in a space. Bounds are compared in single precision, as rows hold values.
 *
 * @example
 * ```ts
 * contains(discrete(3), 2); // true
 * contains(box({ shape: [2], low: 0 }), [1, -1]); // false
 * ```
 */
export const contains = (space: Space, value: unknown): value is SpaceValue =>
  whyOutside(space, value) === undefined;

/**
 * Describes why a value does not lie in a space; undefined if it does. The text calls the value `name`.
 *
 * @example
 * ```ts
 * whyOutside(box({ shape: [2], low: 0 }), [1, -1]); // "it is -1 at 1, below 0"
 * ```
 */
export function whyOutside(space: Space, value: unknown, name = "it"): string | undefined {
  switch (space.kind) {
    case "discrete":
      return whyNoChoice(value, space.n, name, undefined);
    case "multiDiscrete": {
      const wrong = whyNotNumbers(value, space.choices.length, name);
      if (wrong !== undefined) return wrong;
      const chosen = value as ArrayLike<number>;
      for (let i = 0; i < chosen.length; i++) {
        const why = whyNoChoice(chosen[i], space.choices[i] as number, name, i);
        if (why !== undefined) return why;
      }
      return undefined;
    }
    case "box":
      return (
        whyNotNumbers(value, boxSize(space), name) ?? whyOutOfBounds(space, value as ArrayLike<unknown>, name)
      );
    case "dict":
      return whyNotParts(space, value, name);
  }
}

function whyNoChoice(value: unknown, n: number, name: string, at: number | undefined): string | undefined {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < n) return undefined;
  const place = at === undefined ? "" : ` at ${at}`;
  return `${name} is ${valueKind(value)}${place}, where a whole number from 0 to ${n - 1} is expected`;
}

function whyNotNumbers(value: unknown, size: number, name: string): string | undefined {
  if (!isNumbers(value))
    return `${name} is ${valueKind(value)}, where ${size} numbers in a Float32Array are expected`;
  if (typeof value[0] === "object")
    return `${name} is a list of lists, where ${size} flat numbers are expected, one row after the other`;
  if (value.length !== size) return `${name} has ${value.length} numbers, where ${size} are expected`;
  return undefined;
}

const isNumbers = (value: unknown): value is Numbers =>
  Array.isArray(value) ||
  value instanceof Float32Array ||
  value instanceof Int32Array ||
  value instanceof Uint8Array;

function whyOutOfBounds(space: Box, value: ArrayLike<unknown>, name: string): string | undefined {
  for (let i = 0; i < value.length; i++) {
    const element = value[i];
    if (typeof element !== "number" || Number.isNaN(element))
      return `${name} is ${valueKind(element)} at ${i}`;
    const low = boundAt(space.low, i);
    if (Math.fround(element) < Math.fround(low)) return `${name} is ${element} at ${i}, below ${low}`;
    const high = boundAt(space.high, i);
    if (Math.fround(element) > Math.fround(high)) return `${name} is ${element} at ${i}, above ${high}`;
  }
  return undefined;
}

function whyNotParts(space: Extract<Space, { kind: "dict" }>, value: unknown, name: string) {
  if (typeof value !== "object" || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
    return `${name} is ${valueKind(value)}, where an object of ${partNames(space).join(", ")} is expected`;
  const parts = value as Readonly<Record<string, unknown>>;
  for (const part of partNames(space)) {
    const path = name === "it" ? `"${part}"` : `${name}."${part}"`;
    if (!(part in parts)) return `${path} is missing`;
    const why = whyOutside(partOf(space, part), parts[part], path);
    if (why !== undefined) return why;
  }
  for (const part in parts)
    if (!(part in space.spaces)) return `${name} has "${part}", which its space does not have`;
  return undefined;
}

/** Describes a value that was given in place of an expected one. */
export function valueKind(value: unknown): string {
  if (ArrayBuffer.isView(value)) return `a ${value.constructor.name}`;
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : shown(value);
}
