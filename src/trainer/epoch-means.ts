import {
  checkMetricName,
  didYouMean,
  followedCategories,
  type MetricName,
  metricParts,
} from "../core/index.ts";
import { read, type Tensor } from "../engine/index.ts";
import type { Ramp } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { Values } from "./events.ts";

interface Sum {
  readonly total: number;
  readonly count: number;
}

/** What ramps call the metrics of validations. */
const prefix = "validation/";

/**
 * The name under which checkpoints know a metric that a ramp follows. It was chosen before metrics were named in full,
 * and states and settings keep it: `loss` for `train/loss`, `validation.loss` for `validation/loss`.
 */
export function storedName(full: string): string {
  const { category, name } = metricParts(full) ?? { category: "train", name: full };
  return category === "validation" ? `validation.${name}` : name;
}

/**
 * Means over an epoch of the values that ramps follow, and of no others: what is followed is kept on the device and
 * read in one go at the epoch's end, the only reading that the loop does by itself. Rows are summed one by one in
 * their order, so that how batches were cut changes nothing.
 */
export class EpochMeans {
  readonly #ramps: Readonly<Record<string, Ramp>>;
  /** What is followed, by its full name. */
  readonly #names: ReadonlyMap<string, MetricName>;
  readonly #reported = new Set<string>();
  readonly #unknown = new Set<string>();
  #pending: { readonly name: string; readonly tensor: Tensor; readonly rows: number }[] = [];
  #sums = new Map<string, Sum>();

  constructor(ramps: Readonly<Record<string, Ramp>>) {
    this.#ramps = ramps;
    this.#names = new Map(
      Object.entries(ramps).flatMap(([ramp, { follows = [] }]) =>
        follows.map((full) => [
          full,
          checkMetricName(`what the ramp "${ramp}" follows`, full, followedCategories),
        ]),
      ),
    );
  }

  /** Whether any ramp follows anything. */
  get followed(): boolean {
    return this.#names.size > 0;
  }

  add(values: Values): void {
    for (const name of values.names) {
      const full = `${values.phase(name)}/${name}`;
      this.#reported.add(full);
      const tensor = this.#names.has(full) ? values.tensor(name) : undefined;
      if (tensor) this.#pending.push({ name: full, tensor, rows: values.rows(name) });
    }
  }

  /** Takes what a validation of this epoch measured; a later one in the same epoch counts. */
  validated(metrics: Readonly<Record<string, number>>): void {
    for (const [full, { category, name }] of this.#names) {
      const value = category === "validation" ? metrics[name] : undefined;
      if (value !== undefined) this.#sums.set(full, { total: value, count: 1 });
    }
  }

  /**
   * Shows the ramps what the epoch gave, each metric by its full name, and begins anew. `validation` is
   * undefined in epochs that did not validate at their end, and null where none will.
   */
  async observe(
    validation: Readonly<Record<string, number>> | null | undefined,
    warn: (text: string) => void,
  ): Promise<void> {
    await this.#sumUp();
    const metrics: Record<string, number> = {};
    for (const [name, { total, count }] of this.#sums) metrics[name] = total / count;
    for (const [name, value] of Object.entries(validation ?? {})) metrics[`${prefix}${name}`] = value;
    this.#sums = new Map();
    const reported = [...this.#reported, ...Object.keys(validation ?? {}).map((name) => `${prefix}${name}`)];
    for (const [ramp, { follows = [], observe }] of Object.entries(this.#ramps)) {
      for (const name of follows) {
        const later = name.startsWith(prefix) && validation === undefined;
        if (!(name in metrics) && !later) this.#missing(ramp, name, reported, validation !== null, warn);
      }
      if (follows.length > 0) observe?.call(this.#ramps[ramp], metrics);
    }
  }

  #missing(
    ramp: string,
    name: string,
    reported: readonly string[],
    validates: boolean,
    warn: (text: string) => void,
  ): void {
    if (this.#unknown.has(name)) return;
    this.#unknown.add(name);
    warn(
      `the ramp "${ramp}" follows "${name}", which this epoch did not report${didYouMean(name, reported)}; ` +
        `reported were ${reported.join(", ") || "no values"}` +
        (validates || !name.startsWith(prefix) ? "" : ", and the run has no validation"),
    );
  }

  async #sumUp(): Promise<void> {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    const arrays = await read(pending.map(({ tensor }) => tensor));
    pending.forEach(({ name, rows }, i) => {
      const array = arrays[i] as ArrayLike<number>;
      let { total, count } = this.#sums.get(name) ?? { total: 0, count: 0 };
      for (let row = 0; row < rows; row++, count++) total += Number(array[row]);
      this.#sums.set(name, { total, count });
    });
  }

  /** The sums so far: waits only where something is still on the device. */
  getState(): StateTree | Promise<StateTree> {
    const now = (): StateTree =>
      Object.fromEntries(Array.from(this.#sums, ([full, sum]) => [this.#stored(full), { ...sum }]));
    return this.#pending.length > 0 ? this.#sumUp().then(now) : now();
  }

  setState(state: StateTree): void {
    this.#pending = [];
    const saved = state as unknown as Readonly<Record<string, Sum>>;
    this.#sums = new Map(
      [...this.#names.keys()].flatMap((full) => {
        const sum = saved[this.#stored(full)];
        return sum ? [[full, sum] as const] : [];
      }),
    );
  }

  /** Its key in the state: in full where two that are followed would have the same. */
  #stored(full: string): string {
    const stored = storedName(full);
    const others = [...this.#names.keys()].filter((other) => storedName(other) === stored);
    return others.length > 1 ? full : stored;
  }
}
