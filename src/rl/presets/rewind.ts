import type { Stateful, StateTree } from "../../state/index.ts";

/**
 * Sets things that runs share back to what they were when they were first seen: the given ones now, others when they
 * first come. One whose state is a promise is left as it is.
 */
export function rewinder(known: readonly Stateful[]): (parts: readonly Stateful[]) => void {
  const firsts = new Map<Stateful, StateTree | Promise<StateTree>>(
    known.map((part) => [part, part.getState()]),
  );
  return (parts) => {
    for (const part of parts) {
      const first = firsts.get(part);
      if (first === undefined) firsts.set(part, part.getState());
      else if (!(first instanceof Promise)) void part.setState(first);
    }
  };
}
