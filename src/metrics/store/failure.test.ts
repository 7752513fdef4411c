import { describe, expect, it } from "vitest";
import { EspalierError } from "../../core/index.ts";
import { isContended, postgresFailure } from "./postgres.ts";
import { isBusy, sqliteFailure } from "./sqlite.ts";

describe("a failure of SQLite", () => {
  it.each([
    ["STATS_BUSY", 5],
    ["STATS_UNWRITABLE", 8],
    ["STATS_UNAVAILABLE", 10],
    // With more said in its upper bits.
    ["STATS_UNAVAILABLE", 10 | (3 << 8)],
    ["STATS_INVALID", 11],
    ["STATS_FULL", 13],
    ["STATS_UNWRITABLE", 14],
    ["STATS_INVALID", 26],
    ["STATS_FAILED", 19],
  ])("is %s for code %i", (code, errcode) => {
    const cause = Object.assign(new Error("said"), { code: "ERR_SQLITE_ERROR", errcode });
    const error = sqliteFailure("a.db", "filing metrics", cause);
    expect(error).toMatchObject({ code, cause, message: expect.stringContaining("filing metrics: a.db") });
    expect(isBusy(cause)).toBe(code === "STATS_BUSY");
  });

  it("that is told already stays as it is", () => {
    const error = new EspalierError("STATS_NEWER", "newer");
    expect(sqliteFailure("a.db", "opening", error)).toBe(error);
    expect(postgresFailure("postgres://h/d", "opening", error)).toBe(error);
  });
});

describe("a failure of Postgres", () => {
  it.each([
    ["STATS_UNAVAILABLE", "57P01"],
    ["STATS_UNAVAILABLE", "57P03"],
    ["STATS_UNAVAILABLE", "08006"],
    ["STATS_UNAVAILABLE", "53300"],
    ["STATS_UNAVAILABLE", "28P01"],
    ["STATS_UNAVAILABLE", "3D000"],
    ["STATS_UNAVAILABLE", "ECONNREFUSED"],
    ["STATS_FULL", "53100"],
    ["STATS_UNWRITABLE", "42501"],
    ["STATS_UNWRITABLE", "25006"],
    ["STATS_BUSY", "40P01"],
    ["STATS_FAILED", "22003"],
  ])("is %s for code %s", (code, own) => {
    const cause = Object.assign(new Error("said"), { code: own });
    expect(postgresFailure("postgres://h/d", "filing metrics", cause)).toMatchObject({ code, cause });
    expect(isContended(cause)).toBe(code === "STATS_BUSY");
  });

  it.each([
    "Connection terminated unexpectedly",
    "Client has encountered a connection error and is not queryable",
    "timeout exceeded when trying to connect",
  ])("is STATS_UNAVAILABLE where pg says: %s", (message) => {
    expect(postgresFailure("postgres://h/d", "filing", new Error(message)).code).toBe("STATS_UNAVAILABLE");
  });
});
