import { hostRandom } from "../../engine/index.ts";

/**
 * Whole numbers for all rows: with probability epsilon one of the allowed choices, each alike, and what `greedy` says
 * otherwise, which is asked only where some row needs it.
 */
export function explore(
  actions: Float32Array,
  {
    key,
    epsilon,
    choices,
    masks,
  }: {
    readonly key: Uint32Array;
    readonly epsilon: number;
    readonly choices: number;
    /** [rows, choices], where not all are allowed. */
    readonly masks: Uint8Array | undefined;
  },
  greedy: () => ArrayLike<number>,
): void {
  const rows = actions.length;
  const bits = hostRandom.hostBits(key, 2 * rows);
  let best: ArrayLike<number> | undefined;
  for (let row = 0; row < rows; row++) {
    if ((bits[2 * row] as number) < epsilon * 2 ** 32)
      actions[row] = choiceOf(bits[2 * row + 1] as number, choices, masks, row * choices);
    else {
      best ??= greedy();
      actions[row] = best[row] as number;
    }
  }
}

/** One of the allowed choices by 32 random bits. */
function choiceOf(bits: number, choices: number, masks: Uint8Array | undefined, from: number): number {
  if (!masks) return Math.floor((bits * choices) / 2 ** 32);
  let allowed = 0;
  for (let i = 0; i < choices; i++) if (masks[from + i] !== 0) allowed++;
  let skip = Math.floor((bits * allowed) / 2 ** 32);
  for (let i = 0; i < choices; i++) if (masks[from + i] !== 0 && skip-- === 0) return i;
  return 0;
}
