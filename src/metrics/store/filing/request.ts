import type { MetricRecord } from "../../record.ts";

export type Parameter = number | string | null;

/** A statement with `?` for parameters and `{table}` for tables, or many rows for `metrics`. */
export type Request =
  | { readonly sql: string; readonly parameters: readonly Parameter[]; readonly answers: boolean }
  | { readonly rows: NewRows };

export interface NewRows {
  readonly block: number;
  /** The place of the first; each record takes one, filed or not. */
  readonly place: number;
  /** Ids of the records' metrics. */
  readonly keys: readonly number[];
  readonly records: readonly MetricRecord[];
  /** Blocks that may hold some of these records already. */
  readonly elsewhere: readonly number[];
}

/**
 * Work within one transaction, told step by step: so one text serves SQLite, which answers at once, and Postgres, which
 * answers later.
 */
export type Filing<T> = Generator<Request, T, readonly unknown[]>;

/** Asks for rows. */
export function* ask<Row>(sql: string, ...parameters: readonly Parameter[]): Filing<readonly Row[]> {
  return (yield { sql, parameters, answers: true }) as readonly Row[];
}

/** Says what is to be done. */
export function* tell(sql: string, ...parameters: readonly Parameter[]): Filing<void> {
  yield { sql, parameters, answers: false };
}
