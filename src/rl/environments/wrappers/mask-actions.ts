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
 * const environment = maskActions(inner, () => [true, !board.isFull()]);
 * ```
 */
export function maskActions<E extends Environment>(
  environment: E,
  allowed: (inner: E) => ArrayLike<number | boolean>,
): Environment {
  const size = choices(environment.actionSpace) * (environment.agents ?? 1);
  const masked = <T extends Seen>(seen: T): T => {
    const given = allowed(environment);
    if (given?.length !== size)
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${environment.name}: the action mask has ${given?.length ?? "no"} entries, where ${size} are expected`,
        { fix: "give 1 or 0 for every choice, of all choices in a row" },
      );
    return { ...seen, actionMask: Uint8Array.from(given, (one) => (one ? 1 : 0)) };
  };
  return wrap(environment, { reset: masked, step: masked });
}
