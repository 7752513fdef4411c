import { EspalierError } from "../core/index.ts";
import { put, type Tensor } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";

export interface KeyCountsOptions<K extends string, C extends string> {
  /** Words of the random keys by name: two words, or several keys in a row. */
  readonly keys: Readonly<Record<K, Uint32Array>>;
  readonly counts: readonly C[];
  readonly where: Parameters<typeof put>[1];
}

/**
 * Random keys, and counts of what has been drawn from them. All random numbers of a task follow from these, however its
 * work is cut into calls. The saved state has one entry for each key and each count.
 */
export class KeyCounts<K extends string, C extends string> implements Stateful {
  readonly counts: Record<C, number>;
  readonly #where: KeyCountsOptions<K, C>["where"];
  #keys: Readonly<Record<K, Uint32Array>>;
  readonly #tensors = new Map<K, Tensor>();

  constructor({ keys, counts, where }: KeyCountsOptions<K, C>) {
    this.#keys = keys;
    this.#where = where;
    this.counts = Object.fromEntries(counts.map((name) => [name, 0])) as Record<C, number>;
  }

  get keys(): Readonly<Record<K, Uint32Array>> {
    return this.#keys;
  }

  /** The keys of this name on the device: u32[2], or u32[n, 2] where there are several. */
  tensor(name: K): Tensor {
    const known = this.#tensors.get(name);
    if (known) return known;
    const words = this.#keys[name];
    const shape = words.length === 2 ? [2] : [words.length / 2, 2];
    const tensor = put(words, { ...this.#where, shape });
    this.#tensors.set(name, tensor);
    return tensor;
  }

  /** Starts over with other keys. */
  restart(keys: Readonly<Record<K, Uint32Array>>): void {
    this.#keys = keys;
    for (const tensor of this.#tensors.values()) tensor.dispose();
    this.#tensors.clear();
    for (const name of Object.keys(this.counts) as C[]) this.counts[name] = 0;
  }

  getState(): StateTree {
    const keys = Object.entries<Uint32Array>(this.#keys).map(([name, words]) => [name, words.slice()]);
    return { ...Object.fromEntries(keys), ...this.counts };
  }

  setState(state: StateTree): void {
    const given = (state ?? {}) as Readonly<Record<string, unknown>>;
    const keys = Object.entries<Uint32Array>(this.#keys).map(([name, { length }]) => {
      const words = given[name];
      if (!ArrayBuffer.isView(words) || (words as Uint32Array).length !== length) throw this.#invalid();
      return [name, Uint32Array.from(words as Uint32Array)];
    });
    const names = Object.keys(this.counts) as C[];
    if (names.some((name) => !Number.isSafeInteger(given[name]) || (given[name] as number) < 0))
      throw this.#invalid();
    this.restart(Object.fromEntries(keys));
    for (const name of names) this.counts[name] = given[name] as number;
  }

  #invalid(): EspalierError {
    const names = [...Object.keys(this.#keys), ...Object.keys(this.counts)].join(", ");
    return new EspalierError("STATE_INVALID", "this is not a state of a task's keys and counts", {
      fix: `pass what getState() gave: { ${names} }`,
    });
  }
}
