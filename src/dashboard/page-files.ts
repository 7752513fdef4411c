/** The page's files as answers: names with a hash never change, the document is asked for anew each time. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { EspalierError } from "../core/index.ts";
import { inside } from "./safety.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

const compressed = new Map<string, Buffer>();

export async function servePage(
  directory: string,
  request: IncomingMessage,
  response: ServerResponse,
  path: readonly string[],
): Promise<void> {
  if (request.method !== "GET" && request.method !== "HEAD")
    throw new EspalierError("DASHBOARD_METHOD", `${request.method} cannot be done here`);
  // The page's views are in the fragment and the query: there is one document.
  const names = path.length === 1 && path[0] === "" ? ["index.html"] : path;
  const found = inside(directory, ...names);
  const type = types[extname(found ?? "")];
  if (found === undefined || type === undefined)
    throw new EspalierError("DASHBOARD_NOT_FOUND", "there is nothing at this address");
  const plain = readFileSync(found);
  const zip = /\bgzip\b/.test(String(request.headers["accept-encoding"]));
  const immutable = /-[\w-]{8,}\.\w+$/.test(found);
  const bytes = zip ? (compressed.get(found) ?? (await promisify(gzip)(plain))) : plain;
  if (zip && immutable) compressed.set(found, bytes);
  response.writeHead(200, {
    "content-type": type,
    "content-length": bytes.length,
    ...(zip && { "content-encoding": "gzip" }),
    vary: "accept-encoding",
    "cache-control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/**
 * The directory of the page's files: an `index.html` and its assets. In the package it lies beside the code; in a checkout
 * it is built once for each state of its sources.
 */
export function pageDirectory(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const root = packageRoot(here);
  if (!import.meta.url.endsWith(".ts")) return join(root, "dist", "dashboard", "page");
  const sources = join(here, "page");
  const changed = Math.max(
    ...readdirSync(sources).map((name) => statSync(join(sources, name)).mtimeMs),
    statSync(join(here, "api.ts")).mtimeMs,
  );
  // A directory of its own, complete from the beginning: other processes may serve and build other states.
  const built = join(root, ".cache", "dashboard-page", String(Math.round(changed)));
  if (existsSync(built)) return built;
  const unfinished = `${built}.${process.pid}`;
  execFileSync(process.execPath, [join(root, "scripts", "build-page.mjs"), unfinished], { stdio: "inherit" });
  try {
    renameSync(unfinished, built);
  } catch {
    rmSync(unfinished, { recursive: true }); // Another process was faster.
  }
  return built;
}

/** The nearest directory above with a package.json: chunks of a build may lie anywhere in dist. */
function packageRoot(from: string): string {
  for (let at = from; ; at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
    if (dirname(at) === at) throw new Error(`no package.json above ${from}`);
  }
}
