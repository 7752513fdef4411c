import type { Memory } from "../memory.ts";

const byRow = ["observations", "rewards", "terminated", "truncated", "resets", "actionMasks"] as const;
const byAccount = ["returns", "lengths", "lessons", "fresh", "restarts", "failures"] as const;

/** What memory holds of one environment after a finished step. */
export type Account = Readonly<Record<string, readonly number[]>>;

/**
 * Takes it from the memory of a thread that hangs in that environment, and has therefore not changed it, and from what
 * the vector gave last.
 */
export function takeAccount(thread: Memory, outputs: Memory, i: number, first: number): Account {
  const taken: Record<string, readonly number[]> = {};
  for (const key of byAccount) taken[key] = slice(thread[key], thread.lengths.length, i);
  for (const key of byRow) taken[key] = slice(outputs[key], outputs.lengths.length, first + i);
  return taken;
}

export function putAccount(thread: Memory, i: number, account: Account): void {
  for (const key of [...byAccount, ...byRow]) {
    const values = account[key] as readonly number[];
    thread[key].set(values, values.length * i);
  }
}

/** Whether an environment shows in a thread's memory what the vector gave last. */
export function sameAccount(thread: Memory, outputs: Memory, i: number, first: number): boolean {
  return byRow.every((key) => {
    const given = slice(outputs[key], outputs.lengths.length, first + i);
    return slice(thread[key], thread.lengths.length, i).every((value, k) => Object.is(value, given[k]));
  });
}

function slice(array: ArrayLike<number>, count: number, i: number): readonly number[] {
  const each = array.length / count;
  return Array.from({ length: each }, (_, k) => array[i * each + k] as number);
}
