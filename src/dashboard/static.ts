/** The page's files as answers: names with a hash never change, the document is asked for anew each time. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { EspalierError, hex, sha256 } from "../core/index.ts";
import { pageDirectory } from "./page-files.ts";
import { inside } from "./safety.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};

/** A file, and its bytes as they are sent. */
interface SentFile {
  readonly type: string;
  readonly etag: string;
  readonly immutable: boolean;
  readonly plain: Buffer;
  readonly gzip: Buffer;
  readonly br: Buffer;
}

const compress = {
  gzip: promisify(gzip),
  br: (bytes: Buffer): Promise<Buffer> =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

/** Serves the files of a directory. Those that never change are read and compressed once. */
export class PageFiles {
  readonly #directory: string;
  readonly #files = new Map<string, SentFile>();

  constructor(directory = pageDirectory()) {
    this.#directory = directory;
  }

  async serve(request: IncomingMessage, response: ServerResponse, path: readonly string[]): Promise<void> {
    if (request.method !== "GET" && request.method !== "HEAD")
      throw new EspalierError("DASHBOARD_METHOD", `${request.method} cannot be done here`);
    // The page's views are in the fragment and the query: there is one document.
    const names = path.length === 1 && path[0] === "" ? ["index.html"] : path;
    const found = inside(this.#directory, ...names);
    const type = types[extname(found ?? "")];
    if (found === undefined || type === undefined)
      throw new EspalierError("DASHBOARD_NOT_FOUND", "there is nothing at this address");
    const file = this.#files.get(found) ?? (await read(found, type));
    if (file.immutable) this.#files.set(found, file);
    send(request, response, file);
  }
}

async function read(path: string, type: string): Promise<SentFile> {
  const plain = readFileSync(path);
  const hash = sha256();
  hash.update(plain);
  return {
    type,
    etag: `"${hex(hash.digest()).slice(0, 32)}"`,
    immutable: /-[\w-]{8,}\.\w+$/.test(path),
    plain,
    gzip: await compress.gzip(plain),
    br: await compress.br(plain),
  };
}

function send(request: IncomingMessage, response: ServerResponse, file: SentFile): void {
  const accepted = String(request.headers["accept-encoding"] ?? "");
  const encoding = (["br", "gzip"] as const).find((name) => new RegExp(`\\b${name}\\b`).test(accepted));
  response.setHeader("content-type", file.type);
  response.setHeader("etag", file.etag);
  response.setHeader("vary", "accept-encoding");
  response.setHeader("cache-control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  if (request.headers["if-none-match"] === file.etag) {
    response.writeHead(304).end();
    return;
  }
  const bytes = encoding ? file[encoding] : file.plain;
  if (encoding) response.setHeader("content-encoding", encoding);
  response.writeHead(200, { "content-length": bytes.length });
  response.end(request.method === "HEAD" ? undefined : bytes);
}
