import { EspalierError } from "../core/index.ts";
import { type HostArray, hostRandom } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import { type NamedArrays, plainArrays, type Rollout, type ShapedArray, unitsOf } from "./rollout.ts";

interface ReplayOptions {
  /** How often a unit is learned from, at most. */
  readonly maxReuse: number;
  /** Updates since its weights after which a unit is too old. */
  readonly maxStaleness: number;
  /** Updates after which a unit is drawn half as often. Default: age does not count. */
  readonly recency?: number | undefined;
  /** Refuses units that nothing can be learned from, such as groups whose rewards are all equal. */
  readonly useful?: ((arrays: NamedArrays, unit: number) => boolean) | undefined;
}

const noCounts = {
  rollouts: 0,
  units: 0,
  /** Rollouts that were refused: too old, of weights that the trainer has not reached, or known already. */
  stale: 0,
  future: 0,
  duplicates: 0,
  /** Units that were refused as useless, and those that grew too old before they were used up. */
  useless: 0,
  expired: 0,
};

/** Counts from the beginning of a run. */
export type ReplayCounts = typeof noCounts;

interface Held {
  readonly rollout: Rollout;
  /** How often each unit was drawn; `maxReuse` or more where it is used up or was refused. */
  readonly uses: Int32Array;
}

export interface Unit {
  readonly held: Held;
  readonly index: number;
}

/** Ids of rollouts that are remembered, so that one that is delivered again is not used twice. */
const remembered = 4096;

/**
 * Rollouts that the trainer learns from, by their units. A unit is drawn `maxReuse` times at most, newer ones more often
 * where `recency` says so, and never once its weights are more than `maxStaleness` updates old.
 */
export class RolloutReplay implements Stateful {
  readonly counts: ReplayCounts = { ...noCounts };
  readonly #options: ReplayOptions;
  #held: Held[] = [];
  #ids: string[] = [];

  constructor(options: ReplayOptions) {
    this.#options = options;
  }

  get available(): number {
    return this.#left(this.#held);
  }

  /** Takes a rollout when the trainer has done `updates`. False where it was refused. */
  add(rollout: Rollout, updates: number): boolean {
    const { maxReuse, maxStaleness, useful } = this.#options;
    const { counts } = this;
    if (this.#ids.includes(rollout.id)) counts.duplicates++;
    else if (rollout.weightId > updates) counts.future++;
    else if (updates - rollout.weightId > maxStaleness) counts.stale++;
    else {
      const what = `rollout "${rollout.id}"`;
      const units = unitsOf(what, rollout.arrays);
      if (units === undefined || rollout.arrays.valid)
        throw new EspalierError(
          "ROLLOUT_INVALID",
          `${what} has ${units === undefined ? "no arrays" : 'an array "valid"'}`,
          { fix: 'give it arrays; "valid" says which rows of a batch are filled' },
        );
      const useOf = (_: unknown, i: number): number => (useful?.(rollout.arrays, i) === false ? maxReuse : 0);
      const uses = Int32Array.from({ length: units }, useOf);
      const kept = uses.filter((n) => n === 0).length;
      counts.rollouts++;
      counts.units += kept;
      counts.useless += units - kept;
      if (kept > 0) this.#held.push({ rollout, uses });
      this.#ids = [...this.#ids, rollout.id].slice(-remembered);
      return true;
    }
    return false;
  }

  expire(updates: number): void {
    const { maxStaleness } = this.#options;
    const isOld = ({ rollout }: Held): boolean => updates - rollout.weightId > maxStaleness;
    this.counts.expired += this.#left(this.#held.filter(isOld));
    this.#held = this.#held.filter((held) => !isOld(held));
  }

  /** Draws up to `count` different units for one batch, and counts their use. */
  draw(count: number, key: Uint32Array): readonly Unit[] {
    const { maxReuse, recency = Number.POSITIVE_INFINITY } = this.#options;
    const units = this.#held
      .flatMap((held) => Array.from(held.uses, (uses, index) => ({ held, index, uses })))
      .filter(({ uses }) => uses < maxReuse);
    const noise = hostRandom.hostUniform(key, units.length);
    const newest = Math.max(...this.#held.map(({ rollout }) => rollout.weightId));
    const weightOf = ({ held }: Unit): number => 0.5 ** ((newest - held.rollout.weightId) / recency);
    // The smallest of exponential variables with rates: a draw by weights, without putting back.
    const drawn = units
      .map((unit, i) => ({ unit, time: -Math.log(1 - (noise[i] as number)) / weightOf(unit) }))
      .sort((a, b) => a.time - b.time)
      .slice(0, count)
      .map(({ unit }) => unit);
    for (const { held, index } of drawn) (held.uses[index] as number)++;
    this.#held = this.#held.filter((held) => this.#left([held]) > 0);
    return drawn;
  }

  #left(held: readonly Held[]): number {
    const { maxReuse } = this.#options;
    const left = ({ uses }: Held): number => uses.reduce((sum, n) => sum + Math.max(0, maxReuse - n), 0);
    return held.reduce((sum, one) => sum + left(one), 0);
  }

  getState(): StateTree {
    const held = this.#held.map(({ rollout: { arrays, metrics, ...rest }, uses }) => {
      const plain = { uses: uses.slice(), arrays: plainArrays(arrays) };
      return { ...rest, ...(metrics && { metrics }), ...plain };
    });
    return { counts: { ...this.counts }, ids: [...this.#ids], held } as StateTree;
  }

  setState(state: StateTree): void {
    const { counts, ids, held } = (state ?? {}) as Readonly<Record<string, unknown>>;
    if (!counts || !Array.isArray(ids) || !Array.isArray(held))
      throw new EspalierError("STATE_INVALID", "this is not a state of rollouts that are kept", {
        fix: "pass what getState() gave",
      });
    Object.assign(this.counts, counts);
    this.#ids = [...ids];
    const all = held as readonly (Rollout & { readonly uses: Int32Array })[];
    this.#held = all.map(({ uses, ...rollout }) => ({ rollout, uses: Int32Array.from(uses) }));
  }
}

/**
 * Batches of units for a program, one after the other in arrays [room, size, ...], and `valid`, 1 for rows that are
 * filled. What is not filled is zeros.
 */
export function batchesOf(
  batches: readonly (readonly Unit[])[],
  size: number,
  room = batches.length,
): NamedArrays {
  const placed = batches.flatMap((units, b) => units.map((unit, i) => ({ ...unit, at: b * size + i })));
  const first = placed[0] as Unit;
  const valid = new Float32Array(room * size);
  for (const { at } of placed) valid[at] = 1;
  const stacked = Object.entries(first.held.rollout.arrays).map(([name, { data, shape }]) => {
    const row = shape.slice(1);
    const length = row.reduce((product, n) => product * n, 1);
    const all = new (data.constructor as new (length: number) => HostArray)(room * size * length);
    for (const { held, index, at } of placed) {
      const own = held.rollout.arrays[name] as ShapedArray | undefined;
      if (String(own?.shape.slice(1)) !== String(row) || own?.data.constructor !== data.constructor)
        throw new EspalierError(
          "ROLLOUT_INVALID",
          `rollout "${held.rollout.id}": "${name}" is ${own ? `a ${own.data.constructor.name} of shape [${own.shape}]` : "missing"}, ` +
            `and others have a ${data.constructor.name} of shape [.., ${row}]`,
          { fix: "give all rollouts of a run the same arrays" },
        );
      all.set(own.data.subarray(index * length, (index + 1) * length), at * length);
    }
    return [name, { data: all, shape: [room, size, ...row] }] as const;
  });
  return { ...Object.fromEntries(stacked), valid: { data: valid, shape: [room, size] } };
}
