import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { MlflowMetric } from "./mlflow.ts";

interface Run {
  readonly id: string;
  readonly experiment: string;
  readonly name: string;
  readonly tags: Map<string, string>;
  readonly params: Map<string, string>;
  readonly metrics: MlflowMetric[];
  status: string;
  end?: number;
  deleted?: boolean;
}

type Body = Readonly<Record<string, unknown>>;
type Pair = { readonly key: string; readonly value: string };

class Refusal extends Error {
  readonly status: number;
  readonly errorCode: string;
  constructor(status: number, errorCode: string, message: string) {
    super(message);
    this.status = status;
    this.errorCode = errorCode;
  }
}
const invalid = (message: string): Refusal => new Refusal(400, "INVALID_PARAMETER_VALUE", message);
const missing = (message: string): Refusal => new Refusal(404, "RESOURCE_DOES_NOT_EXIST", message);

/** The part of a tracking server that the sink uses, as MLflow's documentation describes it, with its limits. */
export class FakeMlflow {
  readonly experiments = new Map<string, { id: string; lifecycle_stage: string }>();
  readonly runs: Run[] = [];
  readonly requests: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  /** Called before each request is looked at. May throw, or close the connection by returning true. */
  before: (path: string, body: Body) => boolean | undefined = () => undefined;
  /** Called after a request was done: closes the connection without an answer where it is true. */
  loseAnswer: (path: string) => boolean = () => false;

  run(tag: string): Run | undefined {
    return this.runs.find(({ tags, deleted }) => tags.get("espalier.run") === tag && !deleted);
  }

  answer(path: string, query: URLSearchParams, body: Body): unknown {
    const text = (name: string): string => String(body[name] ?? "");
    const list = <T>(name: string): readonly T[] => (body[name] ?? []) as readonly T[];
    const run = (id = text("run_id")): Run =>
      this.runs.find((other) => other.id === id) ?? this.#throw(missing(`Run with id=${id} not found`));
    switch (path) {
      case "experiments/get-by-name": {
        const found = this.experiments.get(query.get("experiment_name") ?? "");
        if (!found) throw missing("Could not find experiment");
        return { experiment: { experiment_id: found.id, lifecycle_stage: found.lifecycle_stage } };
      }
      case "experiments/create": {
        if (this.experiments.has(text("name"))) throw new Refusal(400, "RESOURCE_ALREADY_EXISTS", "exists");
        const id = String(this.experiments.size + 1);
        this.experiments.set(text("name"), { id, lifecycle_stage: "active" });
        return { experiment_id: id };
      }
      case "runs/create": {
        const made: Run = {
          id: `id${this.runs.length}`,
          experiment: text("experiment_id"),
          name: text("run_name"),
          tags: new Map(list<Pair>("tags").map(({ key, value }) => [key, value])),
          params: new Map(),
          metrics: [],
          status: "RUNNING",
        };
        this.runs.push(made);
        return { run: shownRun(made) };
      }
      case "runs/search": {
        const [, tag, value] = /^tags\.`([^`]+)` = '([^']*)'$/.exec(text("filter")) ?? [];
        if (!tag) throw invalid("Invalid filter");
        const inside = list<string>("experiment_ids");
        const found = this.runs.filter(
          (other) => inside.includes(other.experiment) && !other.deleted && other.tags.get(tag) === value,
        );
        return { runs: found.map(shownRun) };
      }
      case "runs/update":
        run().status = text("status");
        if (body.end_time !== undefined) run().end = Number(body.end_time);
        return { run_info: {} };
      case "runs/set-tag":
        run().tags.set(text("key"), text("value"));
        return {};
      case "runs/log-batch":
        this.#log(run(), list<MlflowMetric>("metrics"), list<Pair>("params"));
        return {};
      case "metrics/get-history": {
        const key = query.get("metric_key");
        const all = run(query.get("run_id") ?? "").metrics.filter((metric) => metric.key === key);
        // Two a page, so that pages matter.
        const at = Number(query.get("page_token") ?? 0);
        const next = at + 2 < all.length ? { next_page_token: String(at + 2) } : {};
        return { metrics: all.slice(at, at + 2), ...next };
      }
      default:
        throw new Refusal(404, "", `no ${path}`);
    }
  }

  #log(run: Run, metrics: readonly MlflowMetric[], params: readonly Pair[]): void {
    if (run.deleted) throw invalid(`The run ${run.id} must be in the 'active' state.`);
    if (metrics.length > 1000) throw invalid("at most 1000 metrics");
    if (params.length > 100) throw invalid("at most 100 params");
    for (const { key } of [...metrics, ...params])
      if (!/^[/\p{L}\p{N}_.\- :]+$/u.test(key) || key.length > 250 || /(^|\/)(\.{0,2})(\/|$)/.test(key))
        throw invalid(`Invalid name "${key}"`);
    for (const { value, step, timestamp } of metrics) {
      const isNumber = typeof value === "number" || ["NaN", "Infinity", "-Infinity"].includes(value);
      if (!isNumber || !Number.isInteger(step) || !Number.isInteger(timestamp))
        throw invalid("Invalid metric");
    }
    for (const { key, value } of params) {
      if (typeof value !== "string" || value.length > 500) throw invalid("Invalid param");
      if ((run.params.get(key) ?? value) !== value) throw invalid("Changing param values is not allowed.");
      run.params.set(key, value);
    }
    run.metrics.push(...metrics);
  }

  #throw(refusal: Refusal): never {
    throw refusal;
  }
}

const shownRun = (run: Run): object => ({
  info: { run_id: run.id, status: run.status },
  data: { params: [...run.params].map(([key, value]) => ({ key, value })) },
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

/** Serves it on a port of its own. */
export async function serve(
  mlflow: FakeMlflow,
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    const path = url.pathname.replace("/api/2.0/mlflow/", "");
    mlflow.requests.push(path);
    mlflow.authorizations.push(request.headers.authorization);
    const text = await bodyOf(request);
    const send = (status: number, value: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    try {
      const body = (text === "" ? {} : JSON.parse(text)) as Body;
      if (Buffer.byteLength(text) > 1e6) throw new Refusal(413, "", "too large");
      if (mlflow.before(path, body)) return void request.socket.destroy();
      const answer = mlflow.answer(path, url.searchParams, body);
      if (mlflow.loseAnswer(path)) request.socket.destroy();
      else send(200, answer);
    } catch (error) {
      if (error instanceof Refusal)
        send(error.status, { error_code: error.errorCode, message: error.message });
      else send(500, { error_code: "INTERNAL_ERROR", message: String(error) });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** An answer with this status. */
export const refuse = (status: number, message: string, errorCode = ""): never => {
  throw new Refusal(status, errorCode, message);
};
