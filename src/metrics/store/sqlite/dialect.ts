import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { bindable } from "./bindable.ts";
import type { Statements } from "./statements.ts";
import type { Turns } from "./turns.ts";

/** Kysely on a connection that is there already. Who holds `turns` has it for itself. */
export function sqliteDialect(
  connection: DatabaseSyncInstance,
  statements: Statements,
  turns: Turns,
): Dialect {
  const run = async (sql: string): Promise<void> => void statements.of(sql).run();
  const queries: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const statement = statements.of(sql);
      const values = parameters.map(bindable);
      if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] };
      const { changes } = statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes) };
    },
    // biome-ignore lint/correctness/useYield: the contract has it, nobody here uses it
    async *streamQuery() {
      throw new Error("queries are not streamed");
    },
  };
  return {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => ({
      init: async () => undefined,
      async acquireConnection() {
        await turns.take();
        return queries;
      },
      // At once for writing: a transaction that reads first and then wants to write can be refused half-way.
      beginTransaction: () => run("begin immediate"),
      commitTransaction: () => run("commit"),
      // A full disk has ended it already.
      rollbackTransaction: async () => {
        if (connection.isTransaction) await run("rollback");
      },
      releaseConnection: async () => turns.giveBack(),
      destroy: async () => undefined,
    }),
  };
}
