import { checkSize } from "../../../core/index.ts";
import type { Environment } from "../environment.ts";
import { wrap } from "./wrap.ts";

/**
 * Truncates episodes after so many steps.
 *
 * @example
 * ```ts
 * const short = timeLimit(makeEnvironment("CartPole-v1"), 100);
 * ```
 */
export function timeLimit(environment: Environment, steps: number): Environment {
  checkSize("timeLimit", "steps", steps);
  let taken = 0;
  return wrap(environment, {
    reset(seen) {
      taken = 0;
      return seen;
    },
    step(stepped) {
      taken++;
      return taken >= steps && !stepped.truncated ? { ...stepped, truncated: true } : stepped;
    },
    memory: {
      getState: () => taken,
      setState(state) {
        taken = state as number;
      },
    },
  });
}
