import { didYouMean } from "../core/index.ts";
import { read, type Tensor } from "../engine/index.ts";
import type { Ramp } from "../schedule/index.ts";
import type { StateTree } from "../state/index.ts";
import type { Values } from "./events.ts";

interface Sum {
  readonly total: number;
  readonly count: number;
}

/** What ramps call the metrics of validations. */
const prefix = "validation.";

/**
 * Means over an epoch of the values that ramps follow, and of no others: what is followed is kept on the device and
 * read in one go at the epoch's end, the only reading that the loop does by itself. Rows are summed one by one in
 * their order, so that how batches were cut changes nothing.
 */
export class EpochMeans {
  readonly #ramps: Readonly<Record<string, Ramp>>;
  readonly #names: readonly string[];
  readonly #unknown = new Set<string>();
  #pending: { readonly name: string; readonly tensor: Tensor; readonly rows: number }[] = [];
  #sums = new Map<string, Sum>();

  constructor(ramps: Readonly<Record<string, Ramp>>) {
    this.#ramps = ramps;
    this.#names = [...new Set(Object.values(ramps).flatMap(({ follows }) => follows ?? []))];
  }

  /** Whether any ramp follows anything. */
  get followed(): boolean {
    return this.#names.length > 0;
  }

  add(values: Values): void {
    for (const name of this.#names) {
      const tensor = values.tensor(name);
      if (tensor) this.#pending.push({ name, tensor, rows: values.rows(name) });
    }
  }

  /** Takes what a validation of this epoch measured; a later one in the same epoch counts. */
  validated(metrics: Readonly<Record<string, number>>): void {
    for (const name of this.#names) {
      const value = name.startsWith(prefix) ? metrics[name.slice(prefix.length)] : undefined;
      if (value !== undefined) this.#sums.set(name, { total: value, count: 1 });
    }
  }

  /**
   * Shows the ramps what the epoch gave, validation's metrics as `validation.<name>`, and begins anew. `validation` is
   * undefined in epochs that did not validate at their end, and null where none will.
   */
  async observe(
    validation: Readonly<Record<string, number>> | null | undefined,
    values: readonly string[],
    warn: (text: string) => void,
  ): Promise<void> {
    await this.#sumUp();
    const metrics: Record<string, number> = {};
    for (const [name, { total, count }] of this.#sums) metrics[name] = total / count;
    for (const [name, value] of Object.entries(validation ?? {})) metrics[`${prefix}${name}`] = value;
    this.#sums = new Map();
    const reported = [...values, ...Object.keys(validation ?? {}).map((name) => `${prefix}${name}`)];
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
      Object.fromEntries(Array.from(this.#sums, ([name, sum]) => [name, { ...sum }]));
    return this.#pending.length > 0 ? this.#sumUp().then(now) : now();
  }

  setState(state: StateTree): void {
    this.#pending = [];
    this.#sums = new Map(Object.entries(state as unknown as Readonly<Record<string, Sum>>));
  }
}
