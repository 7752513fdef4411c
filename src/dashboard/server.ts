/**
 * The dashboard's server: a page and a JSON API over a stats store and a directory of runs. Read this file first.
 *
 *     a request
 *       checkHost, checkOrigin, the token      safety.ts
 *       a route                                routes.ts has the table, api.ts says what each answers
 *         runs, metrics, hooks, sweeps         runs.ts
 *         checkpoints, replays                 run-files.ts
 *         log, live updates                    live.ts
 *         control, marks, deletion             changes.ts
 *         workers of a cluster                 cluster.ts
 *       else a file of the page                page-files.ts
 *     its answer: JSON, events, or a file; a failure is { error: { code, message, fix } }
 *     of an answer that the page holds already: what has changed in it (delta.ts), or that nothing has
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { EspalierError, errorText } from "../core/index.ts";
import type { ApiError } from "./api.ts";
import { deltaCoding, difference } from "./delta.ts";
import { Live } from "./live.ts";
import { pageDirectory, servePage } from "./page-files.ts";
import { answerTo } from "./routes.ts";
import { Runs, type RunsOptions } from "./runs.ts";
import {
  checkHost,
  checkOrigin,
  hasToken,
  isLoopback,
  pathSegments,
  readBody,
  safeHeaders,
  tokenNeeded,
} from "./safety.ts";

/** Options of {@link startDashboard}. */
export interface DashboardOptions extends RunsOptions {
  /** The address to listen on. Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: 6006, or the next that is free. 0: any that is free. */
  readonly port?: number;
  /** What control needs, at least 16 characters of ASCII without spaces. Default: made anew. */
  readonly token?: string;
  /** The directory of the page's files. Default: the built page. */
  readonly page?: string;
}

export interface RunningDashboard {
  /** Its address on this machine, without the token. */
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

/** The status of an error by its code. Others are faults of the server. */
const statuses: readonly (readonly [status: number, codes: RegExp])[] = [
  [400, /^(DASHBOARD_REQUEST_INVALID|STATS_CHOICE_INVALID|OPTION_(INVALID|UNKNOWN)|CONTROL_REQUEST)$/],
  [401, /^DASHBOARD_TOKEN_NEEDED$/],
  [403, /^DASHBOARD_FORBIDDEN$/],
  [404, /^(DASHBOARD_NOT_FOUND|STATS_UNKNOWN_RUN|DECISION_UNKNOWN|(RUN|CHECKPOINT|REPLAY)_MISSING)$/],
  [404, /^REPLAY_(ENVIRONMENT|NO_PICTURE)$/],
  [405, /^DASHBOARD_METHOD$/],
  [409, /^(DASHBOARD_NOT_LISTENING|CONTROL_REFUSED|RUN_ALIVE)$/],
  [413, /^DASHBOARD_TOO_LARGE$/],
  [414, /^DASHBOARD_TOO_LONG$/],
  [503, /^(DASHBOARD_BUSY|STATS_UNAVAILABLE|STATS_BUSY)$/],
];

/**
 * Serves the dashboard.
 *
 * @example
 * ```ts
 * const store = await openStatsStore("runs/stats.db");
 * const { url, token, close } = await startDashboard({ store, directory: "runs" });
 * console.log(`${url}#token=${token}`);
 * ```
 */
export async function startDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const { host = "127.0.0.1", token = randomBytes(24).toString("base64url") } = options;
  if (!/^[!-~]{16,}$/.test(token))
    throw new EspalierError("OPTION_INVALID", "the token is too short, or has what a header cannot hold", {
      fix: "give 16 characters or more: letters without accents, digits and signs, no spaces",
    });
  const page = options.page ?? pageDirectory();
  const runs = await Runs.open(options);
  const live = new Live(runs);
  const sent: SentAnswers = new Map();

  /** Answers one request. Never rejects. */
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // A client that goes away is no failure.
    response.on("error", () => undefined);
    for (const [name, value] of Object.entries(safeHeaders)) response.setHeader(name, value);
    try {
      checkHost(request, host);
      const { path, query } = pathSegments(request.url ?? "/");
      if (path[0] !== "api") return await servePage(page, request, response, path);
      const method = request.method ?? "GET";
      const control = hasToken(request, token);
      if (method !== "GET") checkOrigin(request);
      if (!control && (method !== "GET" || !isLoopback(host))) throw tokenNeeded();
      if (path.join("/") === "api/live") return await live.listen(response, query.getAll("run"));
      const body = method === "POST" ? await readBody(request) : undefined;
      const answered = await answerTo(runs, { method, path, query, body, control });
      if (request.headers["a-im"] === deltaCoding) sendChanges(request, response, sent, answered);
      else sendJson(response, 200, answered);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else sendError(request, response, error);
    }
  };
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, answer);
  const bound = await listen(server, host, options.port);
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return {
    url: `http://${reached.includes(":") ? `[${reached}]` : reached}:${bound}/`,
    token,
    async close() {
      live.close();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await runs.close();
    },
  };
}

const FIRST_PORT = 6006;
const PORTS_TRIED = 100;

async function listen(server: Server, host: string, given: number | undefined): Promise<number> {
  for (let port = given ?? FIRST_PORT; ; port++)
    try {
      server.listen({ port, host });
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code === "EADDRINUSE" && given === undefined && port < FIRST_PORT + PORTS_TRIED) continue;
      const why = code === "EADDRINUSE" ? "is taken" : `cannot be had (${code})`;
      throw new EspalierError("DASHBOARD_ADDRESS", `${host}:${port} ${why}`, {
        fix: "give another --port, or an address of this machine as --host",
        cause,
      });
    }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendText(response, status, JSON.stringify(value));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
  });
  response.end(text);
}

/** Answers that pages hold, by the tag of their version, the newest last. */
type SentAnswers = Map<string, string>;

/** Of recorded episodes and long tables one answer can have millions of characters. */
const MOST_SENT = 60;
const MOST_CHARACTERS = 30_000_000;

/** Sends what has changed since the answer that the request says it holds; the whole answer where that is unknown or shorter. */
function sendChanges(
  request: IncomingMessage,
  response: ServerResponse,
  sent: SentAnswers,
  value: unknown,
): void {
  const text = JSON.stringify(value);
  const tag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  const held = request.headers["if-none-match"] ?? "";
  const before = sent.get(held);
  sent.delete(tag);
  sent.set(tag, text);
  let characters = [...sent.values()].reduce((sum, { length }) => sum + length, 0);
  for (const [oldest, { length }] of sent) {
    if (sent.size <= MOST_SENT && characters <= MOST_CHARACTERS) break;
    sent.delete(oldest);
    characters -= length;
  }
  response.setHeader("etag", tag);
  if (held === tag) {
    response.writeHead(304).end();
    return;
  }
  const delta = before && JSON.stringify(difference(JSON.parse(before), JSON.parse(text)));
  const isShorter = delta !== undefined && delta.length < text.length;
  if (isShorter) response.setHeader("im", deltaCoding);
  sendText(response, isShorter ? 226 : 200, isShorter ? delta : text);
}

/** Says what was wrong, without a stack. What is left of a request that was not read goes with its connection. */
function sendError(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const known = error instanceof EspalierError;
  const fix = known ? error.fix : undefined;
  const said: ApiError = known
    ? { code: error.code, message: errorText(error), ...(fix !== undefined && { fix }) }
    : { code: "DASHBOARD_FAILED", message: "the server failed at this" };
  if (!request.complete) response.setHeader("connection", "close");
  const [status = 500] = statuses.find(([, codes]) => codes.test(said.code)) ?? [];
  sendJson(response, status, { error: said });
}
