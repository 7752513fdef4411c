import { EspalierError } from "../../../core/index.ts";
import { choices } from "../../spaces/sizes.ts";
import type { Environment } from "../environment.ts";
import { type Seen, wrap } from "./wrap.ts";

/**
 * Says which actions are allowed, for an environment that knows it and does not tell: 1 or 0 for each choice, of all
 * choices in a row, of all agents one after the other.
 *
 * @example
 * ```ts
 * const environment = maskActions(inner, () => Uint8Array.of(1, board.isFull() ? 0 : 1));
 * ```
 */
export function maskActions<E extends Environment>(
  environment: E,
  allowed: (inner: E) => Uint8Array,
): Environment {
  const size = choices(environment.actionSpace) * (environment.agents ?? 1);
  const masked = <T extends Seen>(seen: T): T => {
    const actionMask = allowed(environment);
    if (!(actionMask instanceof Uint8Array) || actionMask.length !== size)
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${environment.name}: the action mask has ${actionMask?.length ?? "no"} entries, where ${size} are expected`,
        { fix: "give a Uint8Array with an entry for every choice, of all choices in a row" },
      );
    return { ...seen, actionMask: actionMask.slice() };
  };
  return wrap(environment, { reset: masked, step: masked });
}
