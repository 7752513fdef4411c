import type { TrainerHook } from "../../trainer/index.ts";

/** Known to every copy of this package, and kept where a hook is spread into another. */
const mark: symbol = Symbol.for("espalier.checkpointHook");

/** What `checkpointHook` puts into the hooks it makes. */
export const checkpointMark: Readonly<Record<symbol, true>> = { [mark]: true };

/**
 * Whether a hook was made by `checkpointHook`, primary or not. For tools that bring a checkpoint hook of their own.
 *
 * @example
 * ```ts
 * const others = hooks.filter((hook) => !isCheckpointHook(hook));
 * ```
 */
export const isCheckpointHook = (hook: TrainerHook): boolean => mark in hook;
