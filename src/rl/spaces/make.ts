import { badOption, checkSize, shown } from "../../core/index.ts";
import type { Box, Dict, Discrete, MultiDiscrete, Space } from "./space.ts";

/**
 * One of `n` choices: 0 to n - 1.
 *
 * @example
 * ```ts
 * const leftOrRight = discrete(2);
 * ```
 */
export const discrete = (n: number): Discrete => ({ kind: "discrete", n: checkSize("discrete", "n", n) });

/**
 * Several choices at once, with so many to choose from in each.
 *
 * @example
 * ```ts
 * const moveAndShoot = multiDiscrete([5, 2]);
 * ```
 */
export function multiDiscrete(choices: readonly number[]): MultiDiscrete {
  if (!Array.isArray(choices) || choices.length === 0)
    throw badOption("multiDiscrete", `${shown(choices)} is no list of choices`, "give e.g. [5, 2]");
  return {
    kind: "multiDiscrete",
    choices: choices.map((n, i) => checkSize("multiDiscrete", `choices[${i}]`, n)),
  };
}

/** A box without the bounds that follow by themselves. */
export interface BoxOptions {
  /** Lengths of the axes, or the length of the only one; [] is a single number. */
  readonly shape: number | readonly number[];
  /** The least each number may be: one for all, or one an element in order. Default none. */
  readonly low?: number | readonly number[];
  /** The most each number may be. Default none. */
  readonly high?: number | readonly number[];
}

/**
 * Numbers of a shape between bounds. Where there is no bound it is infinite.
 *
 * @example
 * ```ts
 * const torque = box({ shape: [1], low: -2, high: 2 });
 * const picture = box({ shape: [64, 64, 3], low: 0, high: 255 });
 * ```
 */
export function box(options: BoxOptions): Box {
  const lengths = typeof options.shape === "number" ? [options.shape] : options.shape;
  if (!Array.isArray(lengths))
    throw badOption("box", `shape is ${shown(options.shape)}`, "give the lengths of its axes, e.g. [4]");
  const shape = lengths.map((n: number, i: number) => checkSize("box", `shape[${i}]`, n));
  const size = shape.reduce((product: number, n: number) => product * n, 1);
  const low = bounds("low", options.low ?? Number.NEGATIVE_INFINITY, size);
  const high = bounds("high", options.high ?? Number.POSITIVE_INFINITY, size);
  for (let i = 0; i < size; i++)
    if (boundAt(low, i) > boundAt(high, i))
      throw badOption(
        "box",
        `at ${i} low is ${boundAt(low, i)} and high is ${boundAt(high, i)}, so that nothing lies between`,
        "give a low that is not above its high",
      );
  return { kind: "box", shape, low, high };
}

/** The bound of the i-th element. */
export const boundAt = (bound: number | readonly number[], i: number): number =>
  typeof bound === "number" ? bound : (bound[i] as number);

function bounds(name: string, given: unknown, size: number): number | readonly number[] {
  const all: unknown = typeof given === "object" && given !== null ? Array.from(given as never) : given;
  const list: unknown[] = Array.isArray(all) ? all : [all];
  if (Array.isArray(all) && all.length !== size)
    throw badOption(
      "box",
      `${name} has ${all.length} numbers for ${size} elements`,
      "give one for each, or one for all",
    );
  if (!list.every((bound) => typeof bound === "number" && !Number.isNaN(bound)))
    throw badOption("box", `${name} is ${shown(given)}`, "give a number, or a list of one an element");
  return all as number | readonly number[];
}

/**
 * Spaces by name. Their order never matters: flattened they stand in the order of their sorted names.
 *
 * @example
 * ```ts
 * const seen = dict({ camera: box({ shape: [8, 8, 1], low: 0, high: 255 }), gear: discrete(5) });
 * ```
 */
export function dict<const T extends Dict["spaces"]>(
  spaces: T,
): { readonly kind: "dict"; readonly spaces: T } {
  for (const [name, space] of Object.entries(spaces))
    if (!kinds.includes(space?.kind))
      throw badOption(
        "dict",
        `"${name}" is ${shown(space)}, which is no space`,
        "make it with discrete, box, ...",
      );
  if (Object.keys(spaces).length === 0)
    throw badOption("dict", "it has no parts", "give at least one space by name");
  return { kind: "dict", spaces: { ...spaces } };
}

const kinds: readonly string[] = ["discrete", "multiDiscrete", "box", "dict"] satisfies Space["kind"][];
