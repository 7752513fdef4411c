import { EspalierError } from "../core/index.ts";
import { read, type Tensor } from "../engine/index.ts";
import type { Values } from "./events.ts";
import type { Report } from "./task.ts";

/** A report's values. They are read once, all together, when somebody first asks. */
export class ReportValues implements Values {
  readonly count: number;
  readonly names: readonly string[];
  readonly #report: Report;
  readonly #rows: number;
  readonly #rolloutRows: number;
  #read: Promise<Readonly<Record<string, Float32Array>>> | undefined;

  /** `batches` and `rollouts` are the repeats done in each phase. */
  constructor(report: Report, batches: number, rollouts: number) {
    this.count = batches + rollouts;
    this.#report = report;
    this.#rows = batches > 0 ? batches : rollouts;
    this.#rolloutRows = rollouts;
    const { values, rollout } = report;
    this.names = rollout ? [...Object.keys(values), ...Object.keys(rollout)] : Object.keys(values);
  }

  rows(name: string): number {
    if (Object.hasOwn(this.#report.values, name)) return this.#rows;
    return this.#report.rollout && Object.hasOwn(this.#report.rollout, name) ? this.#rolloutRows : 0;
  }

  tensor(name: string): Tensor | undefined {
    return this.#report.values[name] ?? this.#report.rollout?.[name];
  }

  read(): Promise<Readonly<Record<string, Float32Array>>> {
    this.#read ??= this.#readAll();
    return this.#read;
  }

  async #readAll(): Promise<Readonly<Record<string, Float32Array>>> {
    const { values, rollout = {} } = this.#report;
    const arrays = await read({ ...values, ...rollout } as Readonly<Record<string, Tensor>>);
    return Object.fromEntries(
      this.names.map((name) => {
        const { shape, size, type } = this.tensor(name) as Tensor;
        if ((shape[0] ?? 0) < this.rows(name)) throw tooShort(name, type.text, this.rows(name));
        const length = this.rows(name) * (size / Math.max(1, shape[0] ?? 1));
        const array = arrays[name] as ArrayLike<number>;
        const numbers = array instanceof Float32Array ? array : Float32Array.from(array, Number);
        return [name, numbers.subarray(0, length)];
      }),
    );
  }

  async last(): Promise<Readonly<Record<string, number>>> {
    const arrays = await this.read();
    const scalars = this.names.filter((name) => this.tensor(name)?.ndim === 1 && this.rows(name) > 0);
    return Object.fromEntries(scalars.map((name) => [name, arrays[name]?.at(-1) as number]));
  }
}

const tooShort = (name: string, type: string, rows: number): EspalierError =>
  new EspalierError(
    "TASK_INVALID",
    `the task reported "${name}" as ${type}, which has no ${rows} rows on its first axis`,
    { fix: "stack what the repeats gave: the first axis of a reported value is the repeat" },
  );
