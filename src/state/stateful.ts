import type { HostArray, Tensor } from "../engine/index.ts";

/** A leaf of a state: numbers on a device or in memory, and plain JSON values. */
export type StateLeaf = Tensor | HostArray | string | number | boolean | null;

/** A state: nested arrays and plain objects of leaves. */
export type StateTree = StateLeaf | readonly StateTree[] | { readonly [key: string]: StateTree };

/**
 * Something whose future depends on what it remembers. `setState(getState())` must leave it as it was, and whatever
 * is given the same state must go on in the same way. It knows nothing of files.
 *
 * @example
 * ```ts
 * class Counter implements Stateful {
 *   #n = 0;
 *   getState() { return { n: this.#n }; }
 *   setState(state: StateTree) { this.#n = (state as { n: number }).n; }
 * }
 * ```
 */
export interface Stateful {
  /**
   * True where its tensors come and go or change shape as training goes on (a growing buffer), so that a saved state
   * cannot be judged by the present one: `setState` alone decides whether it fits.
   */
  readonly varies?: boolean;
  /** True where a checkpoint without it is one of a run in which it was as it is at the beginning. */
  readonly optional?: boolean;
  getState(): StateTree | Promise<StateTree>;
  setState(state: StateTree): void | Promise<void>;
}
