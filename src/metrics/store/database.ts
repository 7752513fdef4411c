import type { Kysely } from "kysely";
import type { EspalierError } from "../../core/index.ts";
import type { Filing } from "./filing/index.ts";
import type { Tables, Words } from "./schema/index.ts";

/** What the two databases do each in its own way. All else is written once, for both. */
export interface Database {
  readonly kind: "sqlite" | "postgres";
  /** What it is, without passwords. */
  readonly location: string;
  readonly tables: Kysely<Tables>;
  readonly words: Words;
  /** Names of the tables that are there, of this store or of somebody else in its place. */
  tableNames(): Promise<readonly string[]>;
  /** Within a transaction: nobody else migrates until it ends, and names without a schema mean the store's. */
  beginMigration(transaction: Kysely<Tables>): Promise<void>;
  /** Files in a transaction of its own. */
  file<T>(filing: Filing<T>): Promise<T>;
  /** The same without waiting, or undefined where that cannot be done now. */
  fileNow?<T>(filing: Filing<T>): { readonly result: T } | undefined;
  /** Whether somebody else was at it, so that it may be tried again. */
  isBusy(error: unknown): boolean;
  /** A failed operation in words that say what to do. */
  failure(what: string, error: unknown): EspalierError;
  close(): Promise<void>;
}
