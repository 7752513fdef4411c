import { isPlainObject } from "../core/index.ts";
import { nn as functions } from "../engine/index.ts";

/**
 * Plain values from which `nn.fromRecipe` builds a model again: its kind, its options, and the recipes of the layers
 * inside. Functions of `nn` and initializers are in it by their names.
 */
export type Recipe = { readonly kind: string; readonly [option: string]: RecipeValue };

export type RecipeValue =
  | string
  | number
  | boolean
  | null
  | readonly RecipeValue[]
  | { readonly [name: string]: RecipeValue };

/**
 * The member `recipe` of a model of these options; none where one of them cannot be written down, such as a function of
 * the caller's own.
 *
 * @example
 * ```ts
 * return { kind: "dense", ...recipeOf("dense", { units, ...options }), init, apply };
 * ```
 */
export function recipeOf(kind: string, options: object): { readonly recipe?: Recipe } {
  const plain = plainValue(options);
  return plain === undefined ? {} : { recipe: { kind, ...(plain as object) } };
}

/** A value as a recipe has it; undefined where it cannot. */
function plainValue(value: unknown): RecipeValue | undefined {
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value as RecipeValue;
  const made = (value as { readonly recipe?: Recipe } | undefined)?.recipe;
  if (made !== undefined) return made;
  if (typeof value === "function") return functionRecipe(value);
  if (Array.isArray(value)) {
    const items = value.map(plainValue);
    return items.includes(undefined) ? undefined : (items as RecipeValue[]);
  }
  // Models that have no recipe are objects too.
  if (!isPlainObject(value) || typeof value.apply === "function") return undefined;
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([name, item]) => [name, plainValue(item)] as const);
  return entries.some(([, item]) => item === undefined)
    ? undefined
    : (Object.fromEntries(entries) as Readonly<Record<string, RecipeValue>>);
}

/** A function of `nn`, by its name. */
export function functionRecipe(given: unknown): Recipe | undefined {
  const name = Object.entries(functions).find(([, known]) => known === given)?.[0];
  return name === undefined ? undefined : { kind: "function", name };
}
