import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";

/** So many statements are kept compiled. */
const most = 200;

/** Statements of a connection, compiled once. */
export class Statements {
  readonly #connection: DatabaseSyncInstance;
  readonly #compiled = new Map<string, StatementSyncInstance>();

  constructor(connection: DatabaseSyncInstance) {
    this.#connection = connection;
  }

  of(sql: string): StatementSyncInstance {
    return this.#compiled.get(sql) ?? this.#compile(sql, sql);
  }

  /** A statement of a filing: with `{table}` for tables. */
  asked(sql: string): StatementSyncInstance {
    return this.#compiled.get(sql) ?? this.#compile(sql, sql.replaceAll("{lock}", "").replace(/[{}]/g, ""));
  }

  #compile(name: string, sql: string): StatementSyncInstance {
    if (this.#compiled.size >= most) this.#compiled.clear();
    const statement = this.#connection.prepare(sql);
    this.#compiled.set(name, statement);
    return statement;
  }
}
