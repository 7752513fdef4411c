import { runsAndMetrics } from "./version-1.ts";
import { eventsAndHooks } from "./version-2.ts";
import { evaluatedCheckpoints } from "./version-3.ts";

/** Words of a database for what both have. */
export interface Words {
  /** A column that numbers rows, upwards and never twice. */
  readonly counted: string;
  readonly integer: string;
  readonly real: string;
  /** After a table whose rows lie in the order of its primary key. */
  readonly clustered: string;
  /** NaN, where the database can say it. */
  readonly nan: string;
}

/** One step from a version of the schema to the next. Committed ones never change: files of their version exist. */
export interface Migration {
  readonly name: string;
  statements(words: Words): readonly string[];
}

/** The first leads to version 1. */
export const migrations: readonly Migration[] = [runsAndMetrics, eventsAndHooks, evaluatedCheckpoints];
