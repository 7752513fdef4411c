import { badOption, checkNames, checkSize, shown } from "../../core/index.ts";
import type { Space } from "../spaces/space.ts";
import { DefinedEnvironment } from "./defined.ts";
import type { Definition, TypedEnvironment } from "./definition.ts";

const options = ["name", "observation", "action", "agents", "lessons", "timeLimit"] as const;
const functions = ["initial", "step", "observe"] as const;
const extras = ["actionMask", "draw"] as const;

/**
 * An environment from functions of its state. The state is a plain tree (objects, lists, typed arrays, numbers), so
 * that saving it, seeds and time limits come by themselves: all random numbers are to come from `random`. What it gives
 * out and takes in is copied and checked.
 *
 * @example
 * ```ts
 * const makeWalk = defineEnvironment({
 *   name: "Walk",
 *   observation: box({ shape: [1], low: -5, high: 5 }),
 *   action: discrete(2),
 *   timeLimit: 100,
 *   initial: (random) => ({ at: random.integer(3) - 1 }),
 *   step: ({ at }, action) => {
 *     const next = at + (action === 1 ? 1 : -1);
 *     return { state: { at: next }, reward: next === 5 ? 1 : 0, terminated: Math.abs(next) === 5 };
 *   },
 *   observe: ({ at }) => [at],
 * });
 * const environment = makeWalk();
 * ```
 */
export function defineEnvironment<
  State,
  const O extends Space,
  const A extends Space,
  const N extends number | undefined = undefined,
>(definition: Definition<State, O, A, N>): () => TypedEnvironment<O, A, N> {
  const name = definition.name || "defineEnvironment";
  checkNames(name, definition, [...options, ...functions, ...extras]);
  if (!definition.name) throw badOption(name, "it has no name", "give it one, as { name }");
  for (const part of ["observation", "action"] as const)
    if (typeof definition[part]?.kind !== "string")
      throw badOption(
        name,
        `${part} is ${shown(definition[part])}`,
        "give a space: discrete(n), box({ shape }), ...",
      );
  for (const part of functions)
    if (typeof definition[part] !== "function")
      throw badOption(name, `${part} is ${shown(definition[part])}`, "give a function");
  if (definition.agents !== undefined) checkSize(name, "agents", definition.agents);
  if (definition.timeLimit !== undefined) checkSize(name, "timeLimit", definition.timeLimit);
  if (definition.lessons?.length === 0)
    throw badOption(name, "it has no lessons", "name some, or leave lessons out");
  // What it gives and takes is checked when it runs, so that it need not know the types.
  const untyped = definition as unknown as Definition<unknown>;
  return () => new DefinedEnvironment(untyped) as unknown as TypedEnvironment<O, A, N>;
}
