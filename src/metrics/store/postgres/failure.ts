import { EspalierError } from "../../../core/index.ts";

/** Codes of a server that is not there, is ending, or cannot be reached; and of connections that broke. */
const gone = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ENOENT",
];
/** What pg says without a code when a connection is lost, or none is made in time. */
const lost =
  /connection (terminated|error|timeout)|timeout (exceeded|expired)|not queryable|client was closed/i;
/** Serialization failures, deadlocks, a lock that was not to be had. */
const contended = ["40001", "40P01", "55P03"];

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
};

/** Whether somebody else was at it. */
export const isContended = (error: unknown): boolean => contended.includes(codeOf(error));

/** A failed operation on a server in words that say what to do, and never a password. */
export function postgresFailure(location: string, what: string, error: unknown): EspalierError {
  if (error instanceof EspalierError) return error;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message || code : String(error);
  const said = (name: string, words: string, fix?: string): EspalierError =>
    new EspalierError(name, `${what}: ${location} ${words}`, { cause: error, ...(fix && { fix }) });
  const family = code.slice(0, 2);
  if (
    gone.includes(code) ||
    family === "08" ||
    code.startsWith("57P") ||
    code === "53300" ||
    lost.test(message)
  )
    return said(
      "STATS_UNAVAILABLE",
      `cannot be reached (${message || code})`,
      "start the server, or correct host and port in the URL",
    );
  if (family === "28")
    return said(
      "STATS_UNAVAILABLE",
      `does not let us in (${message})`,
      "correct user and password in the URL",
    );
  if (code === "3D000")
    return said("STATS_UNAVAILABLE", "does not exist", "create the database, or correct its name in the URL");
  if (code === "53100") return said("STATS_FULL", "has no space left on its disk", "free space");
  if (code === "42501" || code === "25006")
    return said("STATS_UNWRITABLE", `may not be written to (${message})`, "grant the user its rights");
  if (isContended(error))
    return said("STATS_BUSY", `is kept by another process (${message})`, "end that process, or try again");
  return said("STATS_FAILED", `failed: ${message}`);
}
