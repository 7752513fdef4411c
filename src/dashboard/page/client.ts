// The page's side of the API: requests, live updates, and the answers that a report carries with it.
//
// Live updates come over one connection for the whole page. It is opened before a view asks for what there is already,
// so nothing falls between; a view drops what it has twice by step or offset.
import { signal } from "@preact/signals";
import type { ApiError, LiveEvents, Series, Session } from "../api.ts";
import { eventsOf } from "./stream.ts";

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

/** Asks for the session. The page does so once, at its start. */
export async function openSession(): Promise<void> {
  const found = await get<Session>("/api/session").catch(notify);
  if (!found) return;
  session.value = found;
  // A report stands still at the moment it was made.
  now.value = found.now;
  const offset = found.now - Date.now();
  if (!isReport) setInterval(() => (now.value = Date.now() + offset), 1000);
}

/** Why something did not go, and what helps: an error of the page, or one that the server answered. */
export interface Failure {
  readonly message: string;
  readonly fix?: string | undefined;
}

const refused = ({ message, fix }: Failure) => Object.assign(new Error(message), { fix });

/** Messages that the page shows for a while. */
export const toasts = signal<readonly Failure[]>([]);

/** Shows a failure with its fix at the edge of the page. */
export function notify({ message, fix }: Failure): undefined {
  const toast = { message, fix };
  toasts.value = [...toasts.peek().filter((one) => one.message !== message), toast].slice(-4);
  setTimeout(() => dismiss(toast), 15_000);
}

export const dismiss = (toast: Failure): void => {
  toasts.value = toasts.peek().filter((one) => one !== toast);
};

/** Asks for a path of the API: `get<RunDetail>("/api/runs/7f3a")`. Throws a {@link Failure}. */
export function get<T>(path: string): Promise<T> {
  // Views that want the same at the same time share a request.
  const shared = asked.get(path) ?? request("GET", path).finally(() => asked.delete(path));
  asked.set(path, shared);
  return shared as Promise<T>;
}
const asked = new Map<string, Promise<unknown>>();

/** Metrics of one request, and milliseconds for which more of them are gathered. */
const keysTogether = 50;
const gatheringTime = 5;
const gathering = new Map<
  string,
  { readonly keys: Set<string>; readonly found: Promise<readonly Series[]> }
>();

/**
 * Asks for a series of a run: `getSeries("7f3a", "train/loss", { points: "600", axis: "step" })`. Those that are asked for
 * at the same time share a request. Undefined where the run has no such values.
 */
export async function getSeries(
  run: string,
  key: string,
  choice: Readonly<Record<string, string>>,
): Promise<Series | undefined> {
  const place = `/api/runs/${encodeURIComponent(run)}/series?`;
  if (isReport)
    return (await get<readonly Series[]>(place + new URLSearchParams({ axis: choice.axis ?? "", key })))[0];
  const path = place + new URLSearchParams(choice);
  let { keys, found } = gathering.get(path) ?? {};
  if (!keys || !found) {
    const own = new Set<string>();
    keys = own;
    found = liveOpened
      .then(() => new Promise((resolve) => setTimeout(resolve, gatheringTime)))
      .then(() => {
        if (gathering.get(path)?.keys === own) gathering.delete(path);
        return get<readonly Series[]>(`${path}&${new URLSearchParams([...own].map((one) => ["key", one]))}`);
      });
    gathering.set(path, { keys, found });
  }
  keys.add(key);
  if (keys.size === keysTogether) gathering.delete(path);
  return (await found).find((series) => series.key === key);
}

/** Sends with the token. A failure is shown to the user, and the answer is undefined then. */
export const send = <T>(method: "POST" | "DELETE", path: string, body?: object): Promise<T | undefined> =>
  request<T>(method, path, body).catch(notify);

async function request<T>(method: string, path: string, body?: object): Promise<T> {
  if (report && Object.hasOwn(report, path)) return report[path] as T;
  if (report)
    throw refused({
      message: "This report does not hold this view.",
      fix: "Open the run in the dashboard: `espalier dashboard`.",
    });
  const sent = body && { "content-type": "application/json" };
  const response = await fetch(`.${path}`, {
    method,
    headers: { ...headers, ...sent },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw refused({
      message: "The dashboard does not answer.",
      fix: "See whether `espalier dashboard` still runs, then reload this page.",
    });
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as T;
  const said = (answer as { error?: ApiError } | undefined)?.error;
  throw refused(said ?? { message: `${method} ${path} was answered ${response.status}.` });
}

const events = new EventTarget();

/** Calls a handler with each live event of a name. Returns a function that ends this. */
export function onLive<Name extends keyof LiveEvents>(
  name: Name,
  handler: (event: LiveEvents[Name]) => void,
): () => void {
  const listener = (event: Event) => handler((event as CustomEvent<LiveEvents[Name]>).detail);
  events.addEventListener(name, listener);
  return () => events.removeEventListener(name, listener);
}

/** How the live connection stands. */
export const connected = signal<"closed" | "open" | "lost">("closed");
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

/** Milliseconds without a sign of life, after which the connection is opened anew: the server gives one every 15 s. */
const silence = 40_000;

/** Reads the event stream, and connects again when it breaks. EventSource would do but for the header of the token. */
async function follow(address: string, stop: AbortSignal, opened: () => void): Promise<void> {
  for (let failures = 0; !stop.aborted; failures += 1) {
    try {
      const response = await fetch(address, { headers, signal: stop });
      if (!response.ok || !response.body) throw new Error(`answered ${response.status}`);
      opened();
      failures = 0;
      if (connected.peek() === "lost") reconnects.value += 1;
      connected.value = "open";
      for await (const [name, detail] of eventsOf(response.body, silence))
        events.dispatchEvent(new CustomEvent(name, { detail }));
    } catch {
      opened();
    }
    if (stop.aborted) return;
    connected.value = "lost";
    await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** failures, 10_000)));
  }
}
