import { badOption, checkSize, EspalierError, shown } from "../../core/index.ts";

/** The type of actions or observations. Plain data: it can be sent to threads and stored. */
export type Space = Discrete | MultiDiscrete | Box | Dict;

/** One of `n` choices, 0 to n - 1. */
export interface Discrete {
  readonly kind: "discrete";
  readonly n: number;
}

/** Several choices at once: the i-th is one of `choices[i]`. */
export interface MultiDiscrete {
  readonly kind: "multiDiscrete";
  readonly choices: readonly number[];
}

/** Numbers of a shape between bounds: one number for all elements, or one each; infinite without a bound. */
export interface Box {
  readonly kind: "box";
  readonly shape: readonly number[];
  readonly low: number | readonly number[];
  readonly high: number | readonly number[];
}

/** Spaces by name. */
export interface Dict {
  readonly kind: "dict";
  readonly spaces: Readonly<Record<string, Space>>;
}

/** Numbers of a box, or of several choices. */
export type Numbers = Float32Array | Int32Array | Uint8Array | readonly number[];

/** A value of a space: a whole number, whole numbers, numbers, or such values by name. */
export type SpaceValue = number | Numbers | { readonly [name: string]: SpaceValue };

/** The values that Espalier makes for a space, in `readAction` and `sampleSpace`. */
export type ValueIn<S extends Space> = S extends Discrete
  ? number
  : S extends MultiDiscrete
    ? Int32Array
    : S extends Box
      ? Float32Array
      : S extends Dict
        ? { readonly [K in keyof S["spaces"]]: ValueIn<S["spaces"][K]> }
        : SpaceValue;

/** The values that a caller may give for a space: numbers as any list. */
export type ValueFor<S extends Space> = S extends Discrete
  ? number
  : S extends MultiDiscrete | Box
    ? Numbers
    : S extends Dict
      ? { readonly [K in keyof S["spaces"]]: ValueFor<S["spaces"][K]> }
      : SpaceValue;

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
 * Several choices at once, with the number of options of each.
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

/** Options of {@link box}. */
export interface BoxOptions {
  /** Lengths of the axes, or the length of the only one; [] is a single number. */
  readonly shape: number | readonly number[];
  /** Lower bound: one for all elements, or one each. Default: none. */
  readonly low?: number | readonly number[];
  /** Upper bound. Default: none. */
  readonly high?: number | readonly number[];
}

/**
 * Numbers of a shape between bounds.
 *
 * @example
 * ```ts
 * const torque = box({ shape: [1], low: -2, high: 2 });
 * const picture = box({ shape: [64, 64, 3], low: 0, high: 255 });
 * ```
 */
export function box(options: BoxOptions): Box {
  const given = options?.shape;
  const lengths = typeof given === "number" ? [given] : given;
  if (!Array.isArray(lengths))
    throw badOption("box", `shape is ${shown(given)}`, "give the lengths of its axes, e.g. [4]");
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
  const all: unknown =
    typeof given === "object" && given !== null ? Array.from(given as ArrayLike<unknown>) : given;
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
    if (!isSpace(space))
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

export const isSpace = (value: unknown): value is Space => kinds.includes(Object(value).kind);

/** How many numbers a box holds. */
export function boxSize(space: Box): number {
  let size = 1;
  for (const n of space.shape) size *= n;
  return size;
}

const sorted = new WeakMap<Dict, readonly string[]>();

/** The names of a dict's parts, in the order in which they lie in a row. */
export function partNames(space: Dict): readonly string[] {
  const known = sorted.get(space);
  if (known) return known;
  const names = Object.keys(space.spaces).sort();
  sorted.set(space, names);
  return names;
}

/** The part of this name. */
export const partOf = (space: Dict, name: string): Space => space.spaces[name] as Space;

/** A part of a space that is no dict. */
export interface Leaf {
  readonly space: Exclude<Space, Dict>;
  /** The names of the parts that it lies in, from the outermost on. */
  readonly path: readonly string[];
  /** Its first number in a row of observations, and how many it has there. */
  readonly from: number;
  readonly size: number;
  /** The same in a row of actions. */
  readonly action: number;
  readonly actions: number;
}

const leaves = new WeakMap<Space, readonly Leaf[]>();

/** The parts of a space that are no dicts, in the order in which they lie in a row. */
export function leavesOf(space: Space): readonly Leaf[] {
  const known = leaves.get(space);
  if (known) return known;
  const found: Leaf[] = [];
  let [from, action] = [0, 0];
  const walk = (part: Space, path: readonly string[]): void => {
    if (part.kind === "dict") {
      for (const name of partNames(part)) walk(partOf(part, name), [...path, name]);
      return;
    }
    const options = choiceGroups(part);
    const size = part.kind === "box" ? boxSize(part) : options.reduce((a, b) => a + b);
    const actions = part.kind === "box" ? size : options.length;
    found.push({ space: part, path, from, size, action, actions });
    from += size;
    action += actions;
  };
  walk(space, []);
  leaves.set(space, found);
  return found;
}

/**
 * The length of an observation of this space as a flat row: choices are one-hot, a box is its elements, a dict its parts
 * in the order of their sorted names.
 *
 * @example
 * ```ts
 * flatSize(discrete(5)); // 5
 * flatSize(dict({ camera: box({ shape: [8, 8] }), gear: discrete(5) })); // 69
 * ```
 */
export const flatSize = (space: Space): number => leavesOf(space).reduce((sum, { size }) => sum + size, 0);

/**
 * The length of an action of this space as a flat row: one number for each choice, and a box's elements.
 *
 * @example
 * ```ts
 * actionSize(discrete(5)); // 1
 * actionSize(multiDiscrete([5, 2])); // 2
 * ```
 */
export const actionSize = (space: Space): number =>
  leavesOf(space).reduce((sum, { actions }) => sum + actions, 0);

/**
 * The length of an action mask of this space: one number for every option, of all choices in a row.
 *
 * @example
 * ```ts
 * choices(multiDiscrete([5, 2])); // 7
 * ```
 */
export function choices(space: Space): number {
  if (leavesOf(space).every((leaf) => leaf.space.kind !== "box")) return flatSize(space);
  throw new EspalierError("SPACE_UNSUPPORTED", "a box of actions has no choices that a mask could forbid", {
    fix: "leave the action mask out, or make the action space discrete",
  });
}

/** The number of options in each choice of an action space, in the order of masks. */
export function choiceGroups(space: Space): readonly number[] {
  switch (space.kind) {
    case "discrete":
      return [space.n];
    case "multiDiscrete":
      return space.choices;
    case "box":
      return [];
    case "dict":
      return leavesOf(space).flatMap((leaf) => choiceGroups(leaf.space));
  }
}
