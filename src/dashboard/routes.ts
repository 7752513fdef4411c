/** The routes of the API: api.ts says what each answers. */
import { EspalierError, isPlainObject } from "../core/index.ts";
import type { RunEventKind } from "../metrics/index.ts";
import { control, mark, remove } from "./changes.ts";
import { readCluster } from "./cluster.ts";
import { latestAnswers, readLog } from "./live.ts";
import {
  listCheckpoints,
  listReplays,
  protectCheckpoint,
  readCheckpoint,
  readFilm,
  verifyCheckpoint,
} from "./run-files.ts";
import {
  directoryOf,
  explainHook,
  listSweeps,
  type Runs,
  readComparison,
  readDetail,
  readHooks,
  readSeries,
  summaryOf,
} from "./runs.ts";
import { invalid } from "./safety.ts";

interface Ask {
  /** What stands in the path where the route has a `*`. */
  readonly names: readonly [string, string];
  readonly query: URLSearchParams;
  /** The document that was sent with a POST. */
  readonly body: unknown;
  /** True where the request had the token. */
  readonly control: boolean;
}

type Route = (ask: Ask, runs: Runs) => unknown;

const routes = {
  "GET /api/session": ({ control }: Ask, runs: Runs) => ({
    /** The stats store, without passwords, and the directory of runs. */
    store: runs.location,
    directory: runs.directory,
    /** True where the request had the token: the page may steer. */
    control,
    /** Milliseconds since 1970 at the server. */
    now: Date.now(),
  }),
  "GET /api/runs": async (_: Ask, runs: Runs) => (await runs.rows()).map((row) => summaryOf(runs, row)),
  "GET /api/series": ({ query }, runs) => readSeries(runs, seriesQuery(query)),
  "GET /api/runs/*": async ({ names: [id] }: Ask, runs: Runs) => ({
    ...(await readDetail(runs, id)),
    /** To the newest requests; others come as events. */
    answers: latestAnswers(directoryOf(runs, await runs.row(id))),
  }),
  "GET /api/runs/*/events": ({ names: [id], query }, runs) => listEvents(runs, id, textOf(query, "kind")),
  "GET /api/runs/*/hooks": ({ names: [id] }, runs) => readHooks(runs, id),
  "GET /api/runs/*/why": ({ names: [id], query }, runs) =>
    explainHook(runs, id, textOf(query, "hook"), numberOf(query, "at")),
  "GET /api/runs/*/log": async ({ names: [id] }, runs) => readLog(directoryOf(runs, await runs.row(id))),
  "GET /api/compare": ({ query }, runs) => readComparison(runs, query.getAll("run")),
  "GET /api/sweeps": (_, runs) => listSweeps(runs),
  "GET /api/cluster": () => readCluster(),
  "GET /api/runs/*/checkpoints": ({ names: [id] }, runs) => listCheckpoints(runs, id),
  "GET /api/runs/*/checkpoints/*": ({ names: [id, name] }, runs) => readCheckpoint(runs, id, name),
  "GET /api/runs/*/replays": ({ names: [id] }, runs) => listReplays(runs, id),
  "GET /api/runs/*/replays/*": ({ names: [id, name] }, runs) => readFilm(runs, id, name),
  "POST /api/runs/*/control": ({ names: [id], body }, runs) => control(runs, id, body),
  "POST /api/runs/*/marks": ({ names: [id], body }, runs) => mark(runs, id, body),
  "DELETE /api/runs/*": ({ names: [id], query }, runs) => remove(runs, id, query.get("confirm")),
  "POST /api/runs/*/checkpoints/*/verify": ({ names: [id, name] }, runs) => verifyCheckpoint(runs, id, name),
  "POST /api/runs/*/checkpoints/*/protect": ({ names: [id, name], body }, runs) =>
    protectCheckpoint(runs, id, name, protectedOf(body)),
} satisfies Readonly<Record<string, Route>>;

export type Answers = {
  readonly [Name in keyof typeof routes]: Awaited<ReturnType<(typeof routes)[Name]>>;
};

export interface ApiRequest extends Omit<Ask, "names"> {
  readonly method: string;
  readonly path: readonly string[];
}

/** Answers a request of the API: a value that becomes JSON. */
export async function answerTo(runs: Runs, { method, path, ...ask }: ApiRequest): Promise<unknown> {
  const found = Object.keys(routes).filter((name) => fits(patternOf(name), path));
  const name = found.find((each) => each.startsWith(`${method} `));
  const route = (routes as Readonly<Record<string, Route>>)[name ?? ""];
  if (!name || !route) {
    if (found.length > 0) throw new EspalierError("DASHBOARD_METHOD", `${method} cannot be done here`);
    throw new EspalierError("DASHBOARD_NOT_FOUND", "there is nothing at this address");
  }
  const [first = "", second = ""] = path.filter((_, i) => patternOf(name)[i] === "*");
  return route({ ...ask, names: [first, second] }, runs);
}

const patternOf = (name: string): readonly string[] => (name.split(" ")[1] ?? "").split("/").slice(1);

const fits = (pattern: readonly string[], path: readonly string[]): boolean =>
  pattern.length === path.length && pattern.every((part, i) => part === "*" || part === path[i]);

function textOf(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (text === null || text === "") throw invalid(`${name} is missing in the query`);
  return text;
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) throw invalid(`${name} is no number`);
  return number;
}

const MOST_EVENTS = 5000;
const MOST_CURVES = 100;

/** Curves are pairs: the first `run` has the first `key`. */
function seriesQuery(query: URLSearchParams): Parameters<typeof readSeries>[1] {
  const [ids, keys] = [query.getAll("run"), query.getAll("key")];
  if (ids.length > MOST_CURVES) throw invalid(`a request has at most ${MOST_CURVES} curves`);
  if (ids.length !== keys.length) throw invalid("a curve is a run and a key");
  const axis = query.get("axis") ?? "step";
  if (axis !== "step" && axis !== "time") throw invalid("axis is step or time");
  const [from, to] = [numberOf(query, "from"), numberOf(query, "to")];
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const curves = ids.map((run, i) => ({ run, key: keys[i] ?? "" }));
  return { curves, points: numberOf(query, "points") ?? 600, axis, ...range };
}

function protectedOf(body: unknown): boolean {
  const value = isPlainObject(body) ? body.protected : undefined;
  if (typeof value !== "boolean") throw invalid("say { protected: true } or { protected: false }");
  return value;
}

/** Rows of the stats store: `RunEvents` of a kind. */
async function listEvents(runs: Runs, id: string, kind: string) {
  const store = runs.storeOf(id);
  const kinds = Object.keys(await store.counts(id)) as RunEventKind[];
  const known = kinds.find((each) => each === kind);
  if (known === undefined) throw invalid(`kind is one of ${kinds.join(", ")}`);
  return (await store.list(id, known)).slice(-MOST_EVENTS);
}
