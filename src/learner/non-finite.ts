import { treeLeaves } from "../core/index.ts";
import { isFloat, np, put, type Tensor, type Value } from "../engine/index.ts";
import type { Params } from "../nn/index.ts";

/** An update as it is judged. */
export interface JudgedUpdate {
  readonly loss: Value | undefined;
  readonly before: Params;
  readonly after: Params;
  /** 0 where the update was left out: it counts as finite then. */
  readonly applied: Value | undefined;
}

/**
 * Inside a program: whether an update's loss and the parameters after it are finite numbers, a bool scalar. Parameters
 * that the update did not touch are not looked at.
 */
export function isFiniteUpdate({ loss, before, after, applied }: JudgedUpdate): Value {
  const old = treeLeaves<Value>(before as never);
  const moved = treeLeaves<Value>(after as never).filter((leaf, i) => leaf !== old[i] && isFloat(leaf.dtype));
  // Over one long axis, as sums of squares in optim/: XLA's CPU back end is slower over several. Small ones together:
  // on a GPU a kernel for each costs more than their numbers (5 % of PPO on an H200, 1 % together).
  const [small, large] = [moved.filter(isSmall), moved.filter((leaf) => !isSmall(leaf))];
  const joined = small.length > 0 ? [np.concatenate(small.map((leaf) => leaf.ravel()))] : [];
  // A sum of x - x is NaN where one is not finite, and was measured to be faster than a reduction of booleans.
  const parts = [...joined, ...large].map((leaf) => np.isFinite(np.sum(leaf.ravel().sub(leaf.ravel()))));
  if (loss) parts.push(np.isFinite(loss));
  const finite = parts.reduce((all, part) => np.logicalAnd(all, part), np.full([], 1, { dtype: "bool" }));
  return applied ? np.logicalOr(finite, np.equal(applied, 0)) : finite;
}

/** Whether copying it costs nothing worth mentioning. */
const isSmall = ({ size }: Value): boolean => size <= 8192;

/** Inside a program: the index of the first update that was not finite, i32, after one more; -1 while all were. */
export const firstNonFinite = (first: Value, finite: Value, index: Value): Value =>
  np.where(np.logicalOr(finite, np.greaterEqual(first, 0)), first, index);

/**
 * The index of a task's first update that was not finite, on the device: programs take it and give the next one, so
 * that the newest tells of all. It is no part of checkpoints: those are taken of finite runs only.
 */
export class NonFiniteIndex {
  readonly #place: (data: Int32Array) => Tensor;
  #tensor: Tensor;

  constructor(on: Parameters<typeof put>[1]) {
    this.#place = (data) => put(data, { ...on, shape: [] });
    this.#tensor = this.#place(Int32Array.of(-1));
  }

  get now(): Tensor {
    return this.#tensor;
  }

  /** Another run begins. */
  clear(): void {
    this.#tensor = this.#place(Int32Array.of(-1));
  }

  /**
   * Takes what a call gave, and gives what the call reports of it: `from` is the index of its first update. The tensors
   * before are the trainer's to read, so that nothing is freed here.
   */
  replace(first: Tensor, from: number): { readonly first: Tensor; readonly from: number } {
    this.#tensor = first;
    return { first, from };
  }
}
