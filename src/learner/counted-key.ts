import { EspalierError } from "../core/index.ts";
import type { Tensor } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";

/** A key and how many updates have drawn from it: what dropout depends on, however the work is cut. */
export interface CountedKey extends Stateful {
  count: number;
  readonly tensor: Tensor;
}

export function countedKey(first: Uint32Array, place: (key: Uint32Array) => Tensor): CountedKey {
  let key = first.slice();
  let tensor = place(key);
  const counted = {
    count: 0,
    get tensor() {
      return tensor;
    },
    getState: (): StateTree => ({ key: key.slice(), count: counted.count }),
    setState: (state: StateTree): void => {
      const given = (state ?? {}) as { readonly key?: unknown; readonly count?: unknown };
      const isKey = ArrayBuffer.isView(given.key) && (given.key as Uint32Array).length === 2;
      if (!isKey || !Number.isSafeInteger(given.count) || (given.count as number) < 0)
        throw new EspalierError("STATE_INVALID", "this is not a state of a task's keys", {
          fix: "pass what getState() gave: { key, count }",
        });
      key = Uint32Array.from(given.key as Uint32Array);
      tensor.dispose();
      tensor = place(key);
      counted.count = given.count as number;
    },
  };
  return counted;
}
