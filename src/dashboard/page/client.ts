// The page's side of the API: requests, live updates, and the answers that a report carries with it.
//
// Live updates come over one connection for the whole page. It is opened before a view asks for what there is already,
// so nothing falls between; a view drops what it has twice by step or offset. What does not come by itself is asked for
// when there is news of it, and only its changes are sent.
import { signal } from "@preact/signals";
import type { ApiError, LiveEvents, Series, Session } from "../api.ts";
import { applied, type Delta, deltaCoding } from "../delta.ts";
import { eventsOf } from "./stream.ts";
import type { View } from "./view.ts";

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

/** Asks for the session, and again where the server may be another one. */
export function followSession(): void {
  let offset = 0;
  follow<Session>(
    () => get("/api/session"),
    undefined,
    ({ data, error }) => {
      if (error) notify(error);
      if (!data) return;
      session.value = data;
      now.value = data.now;
      offset = data.now - Date.now();
    },
  );
  // A report stands still at the moment it was made.
  if (!isReport) setInterval(() => (now.value = Date.now() + offset), 1000);
}

/** Why something did not go, and what helps: an error of the page, or one that the server answered. */
export interface Failure {
  readonly message: string;
  readonly fix?: string | undefined;
}

const refused = ({ message, fix }: Failure) => Object.assign(new Error(message), { fix });

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
export const get = <T>(path: string): Promise<T> => request<T>("GET", path);

/** Asks for a path again and again: after the first answer the server sends what has changed in it. */
export function asker<T>(path: string): () => Promise<T> {
  let held: { readonly answer: T; readonly tag: string } | undefined;
  return async () => {
    if (isReport) return get<T>(path);
    const before = held;
    const response = await fetchFrom(path, {
      headers: { ...headers, "a-im": deltaCoding, ...(before && { "if-none-match": before.tag }) },
    });
    if (before && response.status === 304) return before.answer;
    const found = await answerOf<T | Delta>(response, path);
    const answer = (before && response.status === 226 ? applied(before.answer, found as Delta) : found) as T;
    held = { answer, tag: response.headers.get("etag") ?? "" };
    return answer;
  };
}

/** A path of the API about a run: `apiOf("7f3a", "checkpoints", "step-100")`. */
export const apiOf = (run: string, ...parts: readonly string[]): string =>
  ["/api/runs", ...[run, ...parts].map(encodeURIComponent)].join("/");

/** Curves of one request, characters that name them, and milliseconds for which more of them are gathered. */
const curvesTogether = 40;
const longestNames = 8000;
const gatheringTime = 5;
interface Gathered {
  readonly curves: string[];
  readonly found: Promise<readonly Series[]>;
}
const gathering = new Map<string, Gathered>();

/**
 * Asks for a metric of a run: `getSeries("7f3a", "train/loss", { points: "600", axis: "step" })`. Those that are asked for
 * at the same time share a request.
 */
export async function getSeries(
  run: string,
  key: string,
  choice: Readonly<Record<string, string>> & { readonly axis: View["axis"] },
): Promise<Series | undefined> {
  // A report has each metric in one number of points.
  if (isReport) return (await get<readonly Series[]>(seriesPath({ axis: choice.axis, run, key })))[0];
  const path = seriesPath(choice);
  const shared = gathering.get(path) ?? gather(path);
  const count = shared.curves.push(`&${new URLSearchParams({ run, key })}`);
  if (count === curvesTogether || shared.curves.join("").length > longestNames) gathering.delete(path);
  return (await shared.found)[count - 1];
}

const seriesPath = (query: Readonly<Record<string, string>>): string =>
  `/api/series?${new URLSearchParams(query)}`;

function gather(path: string): Gathered {
  const curves: string[] = [];
  const ask = async () => {
    await liveOpened;
    await new Promise((resolve) => setTimeout(resolve, gatheringTime));
    if (gathering.get(path)?.curves === curves) gathering.delete(path);
    return get<readonly Series[]>(path + curves.join(""));
  };
  const gathered = { curves, found: ask() };
  gathering.set(path, gathered);
  return gathered;
}

/** An answer once it is there, or why it did not come. */
export interface Answer<T> {
  readonly data?: T;
  readonly error?: Failure;
}

/**
 * What changes an answer: each change makes the next answer of the last one, or is undefined where it is to be asked for
 * again. Returns a function that ends this.
 */
export type Changes<T> = (change: (next: (data: T) => T | undefined) => void) => () => void;

/** Changes of an answer about a run: those given, and asking again where the run is gone, new, or goes on from an earlier point. */
export const changesOfRun =
  <T>(run: string, ...given: readonly Changes<T>[]): Changes<T> =>
  (change) => {
    const isOther: Changes<T> = () =>
      onLive("runs", ({ gone, anew }) => [...gone, ...anew].includes(run) && change(() => undefined));
    const ends = [isOther, ...given].map((each) => each(change));
    return () => ends.forEach((end) => end());
  };

/** Milliseconds after which something that was refused is asked for again. */
const refusalTime = 10_000;

/**
 * Asks for something and keeps it up to date, by its changes and by asking again where it was refused, or the live
 * connection was lost. The old answer stays until the new one is there. Returns a function that ends this.
 */
export function follow<T>(
  ask: () => Promise<T>,
  live: Changes<T> | undefined,
  show: (answer: Answer<T>) => void,
): () => void {
  let [asked, data] = [0, undefined as T | undefined];
  /** Changes that wait for an answer. */
  let waiting: ((data: T) => T | undefined)[] = [];
  let again: ReturnType<typeof setTimeout> | undefined;
  const load = (): void => {
    clearTimeout(again);
    const own = ++asked;
    [data, waiting] = [undefined, []];
    const answered = (found: T) => {
      if (own !== asked) return;
      data = found;
      show({ data });
      apply();
    };
    const failed = (error: Failure) => {
      if (own !== asked) return;
      show({ error });
      // A report will not hold more.
      if (!isReport) again = setTimeout(load, refusalTime);
    };
    void liveOpened.then(ask).then(answered, failed);
  };
  // Changes after one that asks again are in the next answer.
  const apply = (): void => {
    while (data !== undefined && waiting.length > 0) {
      const known = data;
      data = waiting.shift()?.(known);
      if (data === undefined) load();
      else if (data !== known) show({ data });
    }
  };
  const end = live?.((next) => {
    waiting.push(next);
    apply();
  });
  const settle = reconnects.subscribe(load);
  return () => {
    asked = 0;
    clearTimeout(again);
    end?.();
    settle();
  };
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
  const response = await fetchFrom(path, {
    method,
    headers: { ...headers, ...sent },
    ...(body && { body: JSON.stringify(body) }),
  });
  return answerOf<T>(response, `${method} ${path}`);
}

const fetchFrom = (path: string, options: RequestInit): Promise<Response> =>
  fetch(`.${path}`, options).catch(() => {
    throw refused({
      message: "The dashboard does not answer.",
      fix: "See whether `espalier dashboard` still runs, then reload this page.",
    });
  });

async function answerOf<T>(response: Response, asked: string): Promise<T> {
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  const said = (answer as { error?: ApiError } | undefined)?.error;
  throw refused(said ?? { message: `${asked} was answered ${response.status}.` });
}

const events = new EventTarget();

/** Tells views of an event as if it had come live. */
export const emit = <Name extends keyof LiveEvents>(name: Name, detail: LiveEvents[Name]): boolean =>
  events.dispatchEvent(new CustomEvent(name, { detail }));

/** Calls a handler with each live event of a name. Returns a function that ends this. */
export function onLive<Name extends keyof LiveEvents>(
  name: Name,
  handler: (event: LiveEvents[Name]) => void,
): () => void {
  const listener = (event: Event) => handler((event as CustomEvent<LiveEvents[Name]>).detail);
  events.addEventListener(name, listener);
  return () => events.removeEventListener(name, listener);
}

export const connected = signal<"closed" | "open" | "lost">("closed");
/** How often the live connection broke and came back: what was missed meanwhile is asked for anew. */
export const reconnects = signal(0);

let connection: AbortController | undefined;
let watched: readonly string[] = [];
/** Settles when the connection for the runs that are looked at is open, or could not be opened at once. */
export let liveOpened: Promise<void> = Promise.resolve();

/** Says which runs are looked at: live updates carry their metrics, events, logs and control. */
export function watch(runs: readonly string[]): void {
  watched = runs;
  if (isReport) return;
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
    void listen(`./api/live?${new URLSearchParams(runs.map((run) => ["run", run]))}`, stop.signal, open);
  });
}

/** Milliseconds after which a page that nobody sees ends its connection: a browser has six for all pages of a server. */
const hiddenTime = 10_000;
let resting: ReturnType<typeof setTimeout> | undefined;

function seen(): void {
  clearTimeout(resting);
  if (document.hidden) resting = setTimeout(() => connection?.abort(), hiddenTime);
  else if (connection?.signal.aborted) {
    // What was missed meanwhile is asked for.
    connected.value = "lost";
    watch(watched);
  }
}
if (document.hidden) seen();
document.addEventListener("visibilitychange", seen);

/** Milliseconds without a sign of life, after which the connection is opened anew: the server gives one every 15 s. */
const silence = 40_000;

/** Reads the event stream, and connects again when it breaks. EventSource would do but for the header of the token. */
async function listen(address: string, stop: AbortSignal, opened: () => void): Promise<void> {
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
