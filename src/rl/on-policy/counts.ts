import { EspalierError } from "../../core/index.ts";
import { hostRandom, type Tensor } from "../../engine/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";

/**
 * What a task's random numbers depend on: its keys, and how many rollouts and updates there were. Whatever is drawn
 * follows from these, however the work is cut.
 */
export interface Counts extends Stateful {
  rollouts: number;
  updates: number;
  /** u32 [3, 2] on the device: keys of rollouts, of the order of experience, of losses. */
  readonly keys: Tensor;
  /** The key of the rollout that comes now. */
  rolloutKey(): Uint32Array;
  /** Starts anew from other keys. */
  restart(keys: readonly Uint32Array[]): void;
}

export function countsOf(
  first: readonly Uint32Array[],
  place: (data: Uint32Array, shape: readonly number[]) => Tensor,
): Counts {
  let words = Uint32Array.from(first.flatMap((key) => [...key]));
  let tensor = place(words, [3, 2]);
  const take = (next: Uint32Array): void => {
    words = Uint32Array.from(next);
    tensor.dispose();
    tensor = place(words, [3, 2]);
  };
  const counts: Counts = {
    rollouts: 0,
    updates: 0,
    get keys() {
      return tensor;
    },
    rolloutKey: () => hostRandom.hostFoldIn(words.subarray(0, 2), counts.rollouts % 2 ** 31),
    restart: (keys) => {
      take(Uint32Array.from(keys.flatMap((key) => [...key])));
      counts.rollouts = 0;
      counts.updates = 0;
    },
    getState: (): StateTree => ({ keys: words.slice(), rollouts: counts.rollouts, updates: counts.updates }),
    setState: (state) => {
      const { keys, rollouts, updates } = (state ?? {}) as Readonly<Record<string, unknown>>;
      if (
        !ArrayBuffer.isView(keys) ||
        (keys as Uint32Array).length !== 6 ||
        !isCount(rollouts) ||
        !isCount(updates)
      )
        throw new EspalierError("STATE_INVALID", "this is not a state of a task's keys and counts", {
          fix: "pass what getState() gave: { keys, rollouts, updates }",
        });
      take(keys as Uint32Array);
      counts.rollouts = rollouts;
      counts.updates = updates;
    },
  };
  return counts;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
