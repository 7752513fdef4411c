// The page's side of the API: requests, live updates, and the answers that a report carries with it.
//
// Live updates come over one connection for the whole page. It is opened before a view asks for what there is already,
// so nothing falls between; a view drops what it has twice by step or offset.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { ApiError, LiveEvents, Series, Session } from "../api.ts";

declare global {
  interface Window {
    /** Answers by path, in a report: nothing is requested then. */
    __ESPALIER_REPORT__?: Readonly<Record<string, unknown>>;
  }
}

const report = window.__ESPALIER_REPORT__;
/** True in a report: no server, no controls, no live updates. */
export const isReport = report !== undefined;

const token = takeToken();

/** The token of the first visit's URL, `#token=...`: kept for the tab, and gone from the URL and the history. */
function takeToken(): string | null {
  if (isReport) return null;
  const said = new URLSearchParams(location.hash.slice(1));
  const given = said.get("token");
  if (given === null) return sessionStorage.getItem("espalier-token");
  said.delete("token");
  sessionStorage.setItem("espalier-token", given);
  history.replaceState(null, "", said.size === 0 ? location.pathname + location.search : `#${said}`);
  return given;
}

const headers: Readonly<Record<string, string>> = token === null ? {} : { "x-espalier-token": token };

/** The server and what this page may do; undefined until it answered. */
export const session = signal<Session | undefined>(undefined);

/** Milliseconds since 1970 by the server's clock, renewed every second. */
export const now = signal(Date.now());
let clockOffset = 0;

/** Asks for the session. The page does so once, at its start. */
export async function openSession(): Promise<void> {
  try {
    const found = await get<Session>("/api/session");
    session.value = found;
    clockOffset = isReport ? 0 : found.now - Date.now();
    // A report stands still at the moment it was made.
    now.value = found.now;
    if (!isReport) setInterval(() => (now.value = Date.now() + clockOffset), 1000);
  } catch (error) {
    notify(asApiError(error));
  }
}

/** A message that the page shows for a while. */
export interface Toast extends ApiError {
  readonly id: number;
}
export const toasts = signal<readonly Toast[]>([]);

/** Shows a failure with its fix at the edge of the page. */
export function notify(said: ApiError): void {
  const same = toasts.peek().filter((one) => one.message !== said.message);
  nextToast += 1;
  const toast = { ...said, id: nextToast };
  toasts.value = [...same.slice(-3), toast];
  setTimeout(() => dismiss(toast.id), 15_000);
}
let nextToast = 0;

export const dismiss = (id: number): void => {
  toasts.value = toasts.peek().filter((one) => one.id !== id);
};

/** What `get` throws. */
export class ApiFailure extends Error {
  readonly error: ApiError;
  constructor(error: ApiError) {
    super(error.message);
    this.error = error;
  }
}

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiFailure ? error.error : { code: "page", message: String(error) };

/** Asks for a path of the API: `get<RunDetail>("/api/runs/7f3a")`. Throws an `ApiFailure`. */
export function get<T>(path: string): Promise<T> {
  // Views that want the same at the same time share a request.
  const shared = asked.get(path) ?? request("GET", path).finally(() => asked.delete(path));
  asked.set(path, shared);
  return shared as Promise<T>;
}
const asked = new Map<string, Promise<unknown>>();

/** Sends with the token. A failure is shown to the user, and the answer is undefined then. */
export async function send<T>(
  method: "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T | undefined> {
  try {
    return await request<T>(method, path, body);
  } catch (error) {
    notify(asApiError(error));
    return undefined;
  }
}

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  if (report) return fromReport<T>(report, path);
  const sent =
    body === undefined
      ? { method, headers }
      : { method, headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`.${path}`, sent).catch(() => {
    throw new ApiFailure({
      code: "unreachable",
      message: "The dashboard does not answer.",
      fix: "See whether `espalier dashboard` still runs, then reload this page.",
    });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as T;
  const said = (answer as { error?: ApiError } | undefined)?.error;
  throw new ApiFailure(
    said ?? {
      code: `http-${response.status}`,
      message: `${method} ${path} was answered ${response.status}.`,
    },
  );
}

/** An answer that a report carries. Series are stored in any grouping: the wanted ones are picked by run, axis and key. */
function fromReport<T>(answers: Readonly<Record<string, unknown>>, path: string): T {
  if (Object.hasOwn(answers, path)) return answers[path] as T;
  const [place = "", query = ""] = path.split("?");
  if (place.endsWith("/series")) {
    const wanted = new URLSearchParams(query);
    const found = new Map<string, Series>();
    for (const [stored, answer] of Object.entries(answers)) {
      const [storedPlace, storedQuery = ""] = stored.split("?");
      const axis = new URLSearchParams(storedQuery).get("axis") ?? "step";
      if (storedPlace !== place || axis !== (wanted.get("axis") ?? "step")) continue;
      for (const series of answer as readonly Series[]) found.set(series.key, series);
    }
    const picked = wanted.getAll("key").flatMap((key) => found.get(key) ?? []);
    return picked as T;
  }
  throw new ApiFailure({
    code: "not-in-report",
    message: "This report does not hold this view.",
    fix: "Open the run in the dashboard: `espalier dashboard`.",
  });
}

/** The answer of a path, as a component uses it. Nothing is asked for while the path is undefined. */
export interface Answer<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  /** Asks again; the old answer stays until the new one is there. */
  readonly reload: () => void;
}

/**
 * Asks for a path when a component appears and when the path changes.
 *
 * @example
 * const { data, error } = useApi<LogPart>(`/api/runs/${run}/log`);
 */
export function useApi<T>(path: string | undefined): Answer<T> {
  const [times, ask] = useState(0);
  const lost = reconnects.value;
  const [state, setState] = useState<{ path?: string | undefined; data?: T; error?: ApiError }>({});
  useEffect(() => {
    if (path === undefined) return;
    let current = true;
    const settle = (answer: { data?: T; error?: ApiError }) => {
      if (current) setState({ path, ...answer });
    };
    liveOpened
      .then(() => get<T>(path))
      .then((data) => settle({ data }))
      .catch((error) => settle({ error: asApiError(error) }));
    return () => {
      current = false;
    };
  }, [path, times, lost]);
  const current = state.path === path ? state : {};
  return {
    data: current.data,
    error: current.error,
    loading: path !== undefined && current.data === undefined && current.error === undefined,
    reload: () => ask((count) => count + 1),
  };
}

type Handler<Name extends keyof LiveEvents> = (event: LiveEvents[Name]) => void;
const handlers: { [Name in keyof LiveEvents]: Set<Handler<Name>> } = {
  runs: new Set(),
  metrics: new Set(),
  event: new Set(),
  log: new Set(),
  control: new Set(),
};

/** Calls a handler with each live event of a name. Returns a function that ends this. */
export function onLive<Name extends keyof LiveEvents>(name: Name, handler: Handler<Name>): () => void {
  const those: Set<Handler<Name>> = handlers[name];
  those.add(handler);
  return () => those.delete(handler);
}

/** How the live connection stands. */
export const live = signal<"closed" | "open" | "lost">("closed");
/** How often the live connection broke and came back: what was missed meanwhile is asked for anew. */
export const reconnects = signal(0);

let watched: string | undefined;
let connection: AbortController | undefined;
/** Settles when the connection for the runs that are looked at is open, or could not be opened at once. */
export let liveOpened: Promise<void> = Promise.resolve();

/** Says which runs are looked at: live updates carry their metrics, events, logs and control. */
export function watch(runs: readonly string[]): void {
  const query = runs.map((run) => `run=${encodeURIComponent(run)}`).join("&");
  if (isReport || query === watched) return;
  watched = query;
  const before = connection;
  const stop = new AbortController();
  connection = stop;
  liveOpened = new Promise((opened) => {
    // The old connection serves until the new one is open.
    const open = () => {
      before?.abort();
      opened();
    };
    // Where a browser has no connection left for it, the page works without.
    setTimeout(opened, 1000);
    void follow(`./api/live${query && `?${query}`}`, stop.signal, open);
  });
}

/** Reads the event stream, and connects again when it breaks. EventSource would do but for the header of the token. */
async function follow(address: string, stop: AbortSignal, opened: () => void): Promise<void> {
  for (let failures = 0; !stop.aborted; failures += 1) {
    try {
      const response = await fetch(address, {
        headers: { ...headers, accept: "text/event-stream" },
        signal: stop,
      });
      if (!response.ok || !response.body) throw new Error(`answered ${response.status}`);
      opened();
      failures = 0;
      if (live.peek() === "lost") reconnects.value += 1;
      live.value = "open";
      const decoder = new TextDecoder();
      let rest = "";
      for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) dispatch(part);
      }
    } catch {
      opened();
    }
    if (stop.aborted) return;
    live.value = "lost";
    await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** failures, 10_000)));
  }
}

/** One event of the stream, as two lines: `event: NAME` and `data: JSON`. Others keep the connection alive. */
function dispatch(part: string): void {
  const [, name = "", data = ""] = /^event: (.*)\ndata: (.*)$/m.exec(part) ?? [];
  if (!Object.hasOwn(handlers, name)) return;
  const event: unknown = JSON.parse(data);
  for (const handler of handlers[name as keyof LiveEvents]) (handler as (event: unknown) => void)(event);
}
