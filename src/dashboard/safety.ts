/**
 * What keeps others out of the dashboard. For every request, in this order:
 *
 *     checkHost      the Host header names this machine: pages of other sites cannot reach it by a name of their own
 *     checkOrigin    what changes something comes from the dashboard's own page
 *     hasToken       control needs the token always; on an address that others can reach, everything does
 *     pathSegments   names in the path are names: no separators, no parent directories
 *     readBody       a small JSON document, or nothing
 *     inside         a file lies where it must, links followed
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { realpathSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { join, sep } from "node:path";
import { EspalierError } from "../core/index.ts";

/** Headers of every answer. Nothing is loaded from anywhere else, and no other page can show this one. */
export const safeHeaders: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** The most bytes of a request's body, and characters of its address. */
const LONGEST_BODY = 64_000;
const LONGEST_URL = 12_000;

const refused = (message: string, fix: string): EspalierError =>
  new EspalierError("DASHBOARD_FORBIDDEN", message, { fix });

export const invalid = (message: string, fix?: string): EspalierError =>
  new EspalierError("DASHBOARD_REQUEST_INVALID", message, fix === undefined ? {} : { fix });

/** True of addresses and names that reach this machine alone. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host.replace(/^\[|\]$/g, ""));

const isEvery = (host: string): boolean => host === "0.0.0.0" || host === "::";

/** Refuses a Host header that is not a name of this machine. `bound` is the address that the server listens on. */
export function checkHost({ headers }: IncomingMessage, bound: string): void {
  const name = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(headers.host ?? "")?.[1]?.replace(/^\[|\]$/g, "") ?? "";
  if (isLoopback(name) || name === bound) return;
  // A name can be made to mean any address, an address cannot.
  if (isEvery(bound) && (isIP(name) > 0 || name.toLowerCase() === hostname().toLowerCase())) return;
  throw refused(
    "the Host header is not a name of this server",
    "open the address that espalier dashboard printed",
  );
}

/** Refuses a change that another page asks for. */
export function checkOrigin({ headers }: IncomingMessage): void {
  if (headers.host !== undefined && headers.origin === `http://${headers.host}`) return;
  throw refused("the request does not come from the dashboard's page", "send its address as Origin");
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** True where a request has the token. The comparison takes the same time wherever two tokens differ. */
export function hasToken({ headers }: IncomingMessage, token: string): boolean {
  const given = headers["x-espalier-token"];
  return typeof given === "string" && timingSafeEqual(digest(given), digest(token));
}

export const tokenNeeded = (): EspalierError =>
  new EspalierError("DASHBOARD_TOKEN_NEEDED", "this needs the token of the dashboard", {
    fix: "open the address with #token= that espalier dashboard printed",
  });

/** The parts of a request's path, decoded, and its query. */
export function pathSegments(url: string): {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
} {
  if (url.length > LONGEST_URL)
    throw new EspalierError("DASHBOARD_TOO_LONG", `an address has at most ${LONGEST_URL} characters`);
  const [path = "", query = ""] = url.split(/\?(.*)/s);
  let segments: string[];
  try {
    segments = path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    throw invalid("the path cannot be decoded");
  }
  if (!segments.every(isPlainName) && path !== "/") throw invalid("the path holds what is no name");
  return { path: segments, query: new URLSearchParams(query) };
}

/** True of what can name one thing in a directory, or in a store. */
export const isPlainName = (name: string): boolean =>
  name !== "" &&
  name !== "." &&
  name !== ".." &&
  name.length <= 300 &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  !/[/\\\x00-\x1f\x7f]/.test(name);

/** Reads no further than the longest document that is accepted. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const tooLarge = new EspalierError("DASHBOARD_TOO_LARGE", `a request has at most ${LONGEST_BODY} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > LONGEST_BODY) throw tooLarge;
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    throw invalid("the request is not JSON", "send content-type: application/json");
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LONGEST_BODY) throw tooLarge;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
  } catch {
    throw invalid("the request is not JSON");
  }
}

/** A text in which the passwords of addresses are `***`, as that of a stats store in a configuration. */
export const withoutPasswords = (text: string): string =>
  text.replace(/(:\/\/[^\s:@/?#"]*):[^\s/"]*@/g, "$1:***@").replace(/([?&]password=)[^&\s'"]*/gi, "$1***");

/** The path of something in a directory; undefined where either is not there, or where links lead out of the directory. */
export function inside(directory: string | undefined, ...names: readonly string[]): string | undefined {
  if (directory === undefined || !names.every(isPlainName)) return undefined;
  try {
    const root = realpathSync(directory);
    const path = realpathSync(join(root, ...names));
    return path.startsWith(root.endsWith(sep) ? root : root + sep) ? path : undefined;
  } catch {
    return undefined;
  }
}
