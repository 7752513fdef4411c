import { EspalierError } from "../core/index.ts";
import type { EventTable, Hook, HookSettings } from "./hook.ts";

/** Options of {@link compositeHook}. */
export interface CompositeHookOptions<E extends EventTable> {
  readonly name: string;
  readonly hooks: readonly Hook<E>[];
}

/**
 * Several hooks that come and go as one. Each keeps its name, its schedule and its place in the order.
 *
 * @example
 * ```ts
 * const watch = compositeHook({ name: "watch", hooks: [evaluation, loggingHook({ schedule: every({ epochs: 1 }) })] });
 * trainer.registerHook(watch);
 * trainer.unregisterHook(watch);
 * ```
 */
export function compositeHook<E extends EventTable>(options: CompositeHookOptions<E>): Hook<E>;
/** Of hooks whose host is known already: no type argument is needed. */
export function compositeHook<H extends HookSettings<never>>(options: {
  readonly name: string;
  readonly hooks: readonly H[];
}): { readonly name: string; readonly children: readonly H[] };
export function compositeHook({
  name,
  hooks,
}: {
  readonly name: string;
  readonly hooks: readonly HookSettings<never>[];
}): HookSettings<never> {
  if (!Array.isArray(hooks) || hooks.length === 0)
    throw new EspalierError("HOOK_INVALID", `the composite hook "${name}" has no hooks`, {
      fix: `write compositeHook({ name: "${name}", hooks: [first, second] })`,
    });
  // A hook without handlers of its own: what it consists of is in its children.
  return { name, children: hooks };
}
