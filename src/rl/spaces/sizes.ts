import { EspalierError } from "../../core/index.ts";
import type { Box, Dict, Space } from "./space.ts";

/** How many numbers a box holds. */
export function boxSize(space: Box): number {
  let size = 1;
  for (const n of space.shape) size *= n;
  return size;
}

const sorted = new WeakMap<Dict, readonly string[]>();

/** The names of a dict's parts in the order in which they stand in a row. */
export function partNames(space: Dict): readonly string[] {
  const known = sorted.get(space);
  if (known) return known;
  const names = Object.keys(space.spaces).sort();
  sorted.set(space, names);
  return names;
}

/** The part of this name. */
export const partOf = (space: Dict, name: string): Space => space.spaces[name] as Space;

const overParts = (space: Dict, size: (part: Space) => number): number =>
  partNames(space).reduce((sum, name) => sum + size(partOf(space, name)), 0);

/**
 * How many numbers an observation of this space is as a flat row: choices are one-hot, a box is its elements, a dict
 * its parts in the order of their sorted names.
 *
 * @example
 * ```ts
 * flatSize(discrete(5)); // 5
 * flatSize(dict({ camera: box({ shape: [8, 8] }), gear: discrete(5) })); // 69
 * ```
 */
export function flatSize(space: Space): number {
  switch (space.kind) {
    case "discrete":
      return space.n;
    case "multiDiscrete":
      return space.choices.reduce((sum, n) => sum + n, 0);
    case "box":
      return boxSize(space);
    case "dict":
      return overParts(space, flatSize);
  }
}

/**
 * How many numbers an action of this space is as a flat row: one for each choice, and a box's elements.
 *
 * @example
 * ```ts
 * actionSize(discrete(5)); // 1
 * actionSize(multiDiscrete([5, 2])); // 2
 * ```
 */
export function actionSize(space: Space): number {
  switch (space.kind) {
    case "discrete":
      return 1;
    case "multiDiscrete":
      return space.choices.length;
    case "box":
      return boxSize(space);
    case "dict":
      return overParts(space, actionSize);
  }
}

/**
 * How many numbers an action mask of this space has: one for every choice, of all choices in a row.
 *
 * @example
 * ```ts
 * choices(multiDiscrete([5, 2])); // 7
 * ```
 */
export function choices(space: Space): number {
  if (space.kind === "discrete" || space.kind === "multiDiscrete") return flatSize(space);
  if (space.kind === "dict") return overParts(space, choices);
  throw new EspalierError("SPACE_UNSUPPORTED", "a box of actions has no choices that a mask could forbid", {
    fix: "leave the action mask out, or make the action space discrete",
  });
}
