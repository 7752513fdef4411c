import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openStatsStore, type StatsStore } from "../metrics/index.ts";
import { noCounters } from "../schedule/index.ts";
import { type DashboardOptions, startDashboard } from "./server.ts";

/** A dashboard that is served for the time of a test, over an empty store and directory of runs. */
export interface ServedDashboard {
  readonly store: StatsStore;
  /** The directory of runs. */
  readonly directory: string;
  readonly url: string;
  readonly port: number;
  readonly token: string;
  /** Asks as the page does, and expects JSON. */
  get<T>(path: string): Promise<T>;
  /** Sends as the page does, with the token. */
  send(method: "POST" | "DELETE", path: string, body?: unknown): Promise<Answer>;
  /** Sends anything at all. */
  ask(path: string, options?: RawRequest): Promise<Answer>;
  /** The events of runs, from now on. */
  listen(...runs: readonly string[]): Promise<Listener>;
}

interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly json: {
    readonly error?: { readonly code: string; readonly message: string; readonly fix?: string };
  };
}

export interface Listener {
  /** Resolves with the next event of a name that fits. */
  next(name: string, fits?: (data: never) => boolean): Promise<unknown>;
  close(): void;
}

export async function serveDashboard(
  options: Partial<DashboardOptions> & { readonly root?: string } = {},
): Promise<ServedDashboard> {
  const root = options.root ?? mkdtempSync(join(tmpdir(), "espalier-dashboard-"));
  const [directory, page] = [join(root, "runs"), join(root, "page")];
  for (const each of [directory, join(page, "assets")]) mkdirSync(each, { recursive: true });
  writeFileSync(join(page, "index.html"), "<!doctype html><title>page</title>");
  writeFileSync(join(page, "assets", "index-a1B2c3D4.js"), `console.log("${"page ".repeat(500)}");`);
  const store =
    typeof options.store === "object" ? options.store : await openStatsStore(join(directory, "stats.db"));
  const served = await startDashboard({ store, directory, page, port: 0, ...options });
  onTestFinished(async () => {
    await served.close();
    await store.close();
    if (options.root === undefined) rmSync(root, { recursive: true });
  });
  const { url, token } = served;
  const port = Number(new URL(url).port);
  const ask = (path: string, raw: RawRequest = {}): Promise<Answer> => askRaw(port, path, raw);
  return {
    store,
    directory,
    url,
    port,
    token,
    ask,
    async get(path) {
      const answer = await ask(path);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return answer.json as never;
    },
    send: (method, path, body) =>
      ask(path, {
        method,
        headers: {
          origin: url.replace(/\/$/, ""),
          "x-espalier-token": token,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    listen: (...runs) => listenTo(port, `/api/live?${runs.map((run) => `run=${run}`).join("&")}`),
  };
}

/** By node:http: fetch cleans paths and forbids headers that are sent here on purpose. */
function askRaw(
  port: number,
  path: string,
  { method = "GET", headers = {}, body }: RawRequest,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const isJson = String(response.headers["content-type"]).startsWith("application/json");
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: (isJson ? JSON.parse(text) : {}) as Answer["json"],
        });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

function listenTo(port: number, path: string): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const seen: { readonly name: string; readonly data: unknown }[] = [];
    const waiting: (() => void)[] = [];
    const asked = request({ host: "127.0.0.1", port, path }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) {
          const name = /^event: (.*)$/m.exec(event)?.[1];
          const data = /\ndata: (.*)$/s.exec(event)?.[1];
          if (name !== undefined && data !== undefined) seen.push({ name, data: JSON.parse(data) });
        }
        for (const wake of waiting.splice(0)) wake();
      });
      const listener: Listener = {
        async next(name, fits = () => true) {
          for (;;) {
            const index = seen.findIndex((event) => event.name === name && fits(event.data as never));
            const [found] = index >= 0 ? seen.splice(index, 1) : [];
            if (found) return found.data;
            await new Promise<void>((wake) => waiting.push(wake));
          }
        },
        close: () => asked.destroy(),
      };
      if (response.statusCode === 200) resolve(listener);
      else reject(new Error(`${path}: ${response.statusCode}`));
    });
    asked.on("error", reject);
    onTestFinished(() => void asked.destroy());
    asked.end();
  });
}

/** Files a run. */
export async function fileRun(store: StatsStore, id: string, more: object = {}): Promise<void> {
  await store.startRun({ id, name: id, startedAt: Date.now(), config: { rate: 0.1 }, ...more });
}

/** Files a value of a metric. */
export const fileValue = async (
  store: StatsStore,
  run: string,
  step: number,
  value: number,
  key = "train/loss",
): Promise<void> => {
  const [category = "", ...name] = key.split("/");
  return store.addMetrics(run, [
    {
      category,
      name: name.join("/"),
      key,
      step,
      value,
      unit: undefined,
      axis: "steps",
      counters: { ...noCounters, steps: step },
      wall: 1_800_000_000_000 + step,
      reduction: "mean",
      count: 1,
      notFinite: 0,
    },
  ]);
};

/** A `run.json` as `espalier train` writes it. */
export const recordOf = (record: {
  readonly id: string;
  readonly name?: string;
  readonly created?: string;
}) => JSON.stringify({ name: record.id, source: "run.yaml", base: "/", overrides: [], ...record });

/** The directory of a run, as `espalier train` makes it. */
export function makeDirectory(
  directory: string,
  id: string,
  files: Readonly<Record<string, string>> = {},
): string {
  const own = join(directory, id);
  mkdirSync(own, { recursive: true });
  for (const [name, text] of Object.entries({ "run.json": recordOf({ id }), ...files })) {
    mkdirSync(join(own, name, ".."), { recursive: true });
    writeFileSync(join(own, name), text);
  }
  return own;
}
