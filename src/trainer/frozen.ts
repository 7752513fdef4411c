import { didYouMean, EspalierError } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { Frozen } from "./task.ts";

/**
 * What a task's `snapshot` gives: the states of some of its components. Tensors never change, so they are frozen as they
 * are. For tasks of one's own; `kind` is what errors call the task.
 *
 * @example
 * ```ts
 * snapshot: (names = Object.keys(components)) => frozenStates("myTask", components, names),
 * ```
 */
export function frozenStates(
  kind: string,
  components: Readonly<Record<string, Stateful>>,
  names: readonly string[],
): Frozen | Promise<Frozen> {
  const states = names.map((name) => {
    const part = components[name];
    if (part) return part.getState();
    throw new EspalierError(
      "COMPONENT_UNKNOWN",
      `${kind}: there is no component "${name}"${didYouMean(name, Object.keys(components))}`,
      { fix: `the components are ${Object.keys(components).join(", ")}` },
    );
  });
  const named = (all: readonly StateTree[]): Frozen => ({
    components: Object.fromEntries(names.map((name, i) => [name, all[i] as StateTree])),
  });
  return states.some((part) => part instanceof Promise)
    ? Promise.all(states).then(named)
    : named(states as readonly StateTree[]);
}
