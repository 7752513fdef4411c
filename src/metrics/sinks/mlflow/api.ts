import { EspalierError } from "../../../core/index.ts";

const TIMEOUT = 20_000;

/** Answers that say: not now. */
const LATER = new Set([408, 425, 429]);
/** Answers that say: not this. */
const NOT_THIS = new Set([400, 413, 422]);

export interface MlflowApi {
  get(path: string, query: Readonly<Record<string, string>>): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
  /** The server, without passwords. */
  readonly url: string;
}

/** An answer that is an error. `errorCode` is MLflow's own. */
export class MlflowError extends EspalierError {
  readonly said: string;
  readonly errorCode: string;

  constructor(code: string, said: string, errorCode: string, fix: string) {
    super(code, said, { fix });
    this.said = said;
    this.errorCode = errorCode;
  }
}

/** MLflow's REST interface, version 2.0. Errors have the codes that a delivery acts on. */
export function mlflowApi(url: string, token: string | undefined): MlflowApi {
  const base = new URL(url);
  const { username, password } = base;
  // Where a request has them in its address, it is refused before it is sent.
  base.username = base.password = "";
  const shown = base.href.replace(/\/$/, "");
  const authorization = authorizationOf(token, username, password);
  const headers = { ...(authorization && { authorization }), "content-type": "application/json" };

  const request = async (path: string, search: string, body?: object): Promise<unknown> => {
    const address = `${shown}/api/2.0/mlflow/${path}${search}`;
    let status: number;
    let text: string;
    try {
      const answer = await fetch(address, {
        headers,
        signal: AbortSignal.timeout(TIMEOUT),
        ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
      });
      status = answer.status;
      text = await answer.text();
    } catch (cause) {
      throw unreachable(shown, cause);
    }
    if (status >= 400) throw refusal(`MLflow at ${shown}, ${path}`, status, text);
    return parsed(text) ?? fail(shown);
  };
  return {
    url: shown,
    get: (path, query) => request(path, `?${new URLSearchParams(query)}`),
    post: (path, body) => request(path, "", body),
  };
}

function authorizationOf(token: string | undefined, user: string, password: string): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (user === "") return undefined;
  const pair = `${decodeURIComponent(user)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function unreachable(url: string, cause: unknown): EspalierError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error ? inner.message || inner.name : String(inner);
  return new EspalierError("SINK_UNAVAILABLE", `MLflow at ${url} does not answer: ${why}`, {
    fix: "see whether the server runs and the address is right",
    cause,
  });
}

function refusal(what: string, status: number, text: string): MlflowError {
  const answer = parsed(text);
  const member = (name: string): string => {
    const value = (answer as Readonly<Record<string, unknown>> | undefined)?.[name];
    return typeof value === "string" ? value : "";
  };
  const errorCode = member("error_code");
  const message = member("message") || text.replace(/<[^>]*>/g, " ");
  const said = `${what}: ${status} ${errorCode} ${message}`.replace(/\s+/g, " ").trim().slice(0, 500);
  if (status >= 500 || LATER.has(status))
    return new MlflowError("SINK_UNAVAILABLE", said, errorCode, "see the server's log");
  if (NOT_THIS.has(status))
    return new MlflowError("SINK_REFUSED", said, errorCode, "see what MLflow says of it");
  const fix =
    status === 401 || status === 403
      ? "give mlflowSink a token that may write to the experiment"
      : "see whether url is the address of an MLflow server, and whether the run was deleted there";
  return new MlflowError("SINK_UNUSABLE", said, errorCode, fix);
}

function fail(url: string): never {
  throw new EspalierError("SINK_UNUSABLE", `what answers at ${url} is not MLflow: it does not speak JSON`, {
    fix: "give mlflowSink the address of an MLflow server",
  });
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
