import { EspalierError } from "../core/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";

/** The state of two parts, either of which may remember nothing. */
export function jointState(a: Stateful | undefined, b: Stateful | undefined): Stateful | undefined {
  if (!a && !b) return undefined;
  return {
    getState() {
      const first = a ? a.getState() : null;
      const second = b ? b.getState() : null;
      if (first instanceof Promise || second instanceof Promise) return Promise.all([first, second]);
      return [first, second];
    },
    setState(state) {
      const [first, second] = pair(state);
      const pending = [a?.setState(first), b?.setState(second)].filter((one) => one instanceof Promise);
      return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined);
    },
  };
}

function pair(state: StateTree): readonly [StateTree, StateTree] {
  if (Array.isArray(state) && state.length === 2) return [state[0], state[1]];
  throw new EspalierError("STATE_INVALID", "this is not a state of two joined schedules", {
    fix: "restore what getState of the same schedules gave",
  });
}
