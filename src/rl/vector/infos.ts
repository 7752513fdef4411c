import type { StateTree } from "../../state/index.ts";

/** What of a step's `info` is a finite number, by name; undefined where nothing is. */
export function numbersIn(info: unknown): Readonly<Record<string, number>> | undefined {
  if (typeof info !== "object" || info === null) return undefined;
  let found: Record<string, number> | undefined;
  for (const [name, value] of Object.entries(info)) {
    if (!Number.isFinite(value)) continue;
    found ??= {};
    found[name] = value as number;
  }
  return found;
}

interface Sum {
  total: number;
  count: number;
}

/**
 * Sums of the numbers that steps had in their `info`, by name and environment, until their means are asked for. They are
 * added up environment by environment, so that threads, which come one after the other, change no bit of a mean.
 */
export class InfoSums {
  /** By name, one for each environment that gave it. */
  #sums = new Map<string, Map<number, Sum>>();

  add(environment: number, info: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(info)) {
      const all = this.#sums.get(name) ?? new Map<number, Sum>();
      this.#sums.set(name, all);
      const sum = all.get(environment) ?? { total: 0, count: 0 };
      all.set(environment, sum);
      sum.total += value;
      sum.count++;
    }
  }

  /** The mean of each name over all steps that had it, which are forgotten then. */
  take(): Readonly<Record<string, number>> {
    if (this.#sums.size === 0) return {};
    const means = [...this.#sums].map(([name, all]): [string, number] => {
      let [total, count] = [0, 0];
      for (const environment of [...all.keys()].sort((a, b) => a - b)) {
        const sum = all.get(environment) as Sum;
        total += sum.total;
        count += sum.count;
      }
      return [name, total / count];
    });
    this.#sums = new Map();
    return Object.fromEntries(means.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** undefined where there is nothing to keep. */
  copy(): StateTree | undefined {
    if (this.#sums.size === 0) return undefined;
    const rows = [...this.#sums].flatMap(([name, all]) =>
      [...all].map(([environment, { total, count }]) => ({ name, environment, total, count })),
    );
    return rows.sort((a, b) => a.environment - b.environment || (a.name < b.name ? -1 : 1));
  }

  replace(state: StateTree | undefined): void {
    this.#sums = new Map();
    for (const row of (state ?? []) as unknown as ({
      readonly name: string;
      readonly environment: number;
    } & Sum)[]) {
      const all = this.#sums.get(row.name) ?? new Map<number, Sum>();
      this.#sums.set(row.name, all);
      all.set(row.environment, { total: row.total, count: row.count });
    }
  }
}
