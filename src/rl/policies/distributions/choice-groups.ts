import { np, type Value } from "../../../engine/index.ts";

/** Choices of equal size that stand side by side, so that they are computed together. */
export interface ChoiceGroup {
  /** How many there are, and how many each has to choose from. */
  readonly count: number;
  readonly n: number;
  /** Where they begin in a row of logits, and in a row of actions. */
  readonly logits: number;
  readonly actions: number;
}

/** The longest runs of equal sizes. */
export function choiceGroups(sizes: readonly number[]): readonly ChoiceGroup[] {
  const groups: ChoiceGroup[] = [];
  let logits = 0;
  sizes.forEach((n, i) => {
    const last = groups.at(-1);
    if (last?.n === n) groups[groups.length - 1] = { ...last, count: last.count + 1 };
    else groups.push({ count: 1, n, logits, actions: i });
    logits += n;
  });
  return groups;
}

/** Elements `from` to `from + size` of the last axis. */
const cut = (x: Value, from: number, size: number): Value =>
  from === 0 && x.shape.at(-1) === size ? x : np.slice(x, "...", [from, from + size]);

/** A group's part of rows of logits [..., all]: [..., count, n]. */
export function logitsOf(rows: Value, { logits, count, n }: ChoiceGroup): Value {
  return np.reshape(cut(rows, logits, count * n), [...rows.shape.slice(0, -1), count, n]);
}

/** A group's part of rows of actions: [..., count]. */
export const actionsOf = (rows: Value, { actions, count }: ChoiceGroup): Value => cut(rows, actions, count);
