import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

/** What a server was told of a run. */
export interface SentRun {
  config: Readonly<Record<string, unknown>>;
  /** Rows, in the order of their places. */
  readonly history: Readonly<Record<string, unknown>>[];
  summary: Readonly<Record<string, unknown>>;
  exitCode: number | undefined;
}

type Variables = Readonly<Record<string, unknown>>;

/**
 * As much of W&B's server as `wandb sync` needs, on loopback: runs are kept, files and artifacts are taken. Rows go
 * where the client says that they belong, as on the real one.
 */
export class WandbServer {
  readonly runs = new Map<string, SentRun>();
  readonly artifacts: Variables[] = [];
  readonly uploads = new Map<string, Buffer>();
  readonly #server = createServer((request, response) => {
    this.#answer(request).then((answer) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this.address;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage): Promise<unknown> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const sent = Buffer.concat(parts);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    const url = request.url ?? "";
    if (request.method === "PUT") this.uploads.set(url, body);
    else if (url === "/graphql") {
      const { query, variables } = JSON.parse(body.toString()) as { query: string; variables: Variables };
      return { data: this.#query(/(?:query|mutation)\s+(\w+)/.exec(query)?.[1] ?? "", variables) };
    } else if (url.endsWith("/file_stream")) this.#stream(url.split("/").at(-2) ?? "", body.toString());
    return {};
  }

  #query(name: string, variables: Variables): unknown {
    const entity = { id: "e", name: "me" };
    const upload = (path: string) => ({
      name: path,
      uploadUrl: `${this.address}/${path}`,
      uploadHeaders: [],
    });
    switch (name) {
      case "UpsertBucket": {
        const run = this.#run(variables.name as string);
        if (variables.config) run.config = parsed(variables.config as string);
        const project = { id: "p", name: variables.project, entity };
        const bucket = { id: "b", name: variables.name, displayName: variables.name, project };
        return {
          upsertBucket: { bucket: { ...bucket, historyLineCount: run.history.length }, inserted: false },
        };
      }
      case "RunResumeStatus": {
        const run = this.runs.get(variables.name as string);
        const tail = JSON.stringify(run?.history.slice(-1).map((row) => JSON.stringify(row)));
        const counts = { logLineCount: 0, eventsLineCount: 0, historyLineCount: run?.history.length };
        const { _wandb } = (run?.config ?? {}) as {
          readonly _wandb?: { readonly value?: { readonly t?: unknown } };
        };
        const own = JSON.stringify({ t: _wandb?.value?.t });
        const texts = {
          historyTail: tail,
          eventsTail: "[]",
          config: JSON.stringify(run?.config),
          wandbConfig: own,
        };
        const bucket = run && { name: variables.name, summaryMetrics: "{}", ...counts, ...texts, tags: [] };
        return { model: { name: variables.project, entity, bucket: bucket ?? null } };
      }
      case "CreateRunFiles":
        return { createRunFiles: { runID: "r", files: (variables.files as string[]).map(upload) } };
      case "CreateArtifact":
        this.artifacts.push(variables.input as Variables);
        return { createArtifact: { artifact: { id: "a", state: "PENDING", artifactSequence: { id: "s" } } } };
      case "CreateArtifactManifest":
        return {
          createArtifactManifest: { artifactManifest: { id: "m", file: { id: "f", ...upload("manifest") } } },
        };
      case "CreateArtifactFiles": {
        const { artifactFiles } = variables.input as { artifactFiles: readonly { readonly name: string }[] };
        const edges = artifactFiles.map(({ name: path }) => ({
          node: { ...upload(`artifact/${path}`), name: path, storagePath: path, artifact: { id: "a" } },
        }));
        return { createArtifactFiles: { files: { edges } } };
      }
      case "CommitArtifact":
        return { commitArtifact: { artifact: { id: "a", digest: "d" } } };
      default:
        return {};
    }
  }

  #stream(name: string, body: string): void {
    const run = this.#run(name);
    const { files = {}, exitcode } = JSON.parse(body) as {
      files?: Readonly<Record<string, { readonly offset: number; readonly content: readonly string[] }>>;
      exitcode?: number;
    };
    for (const [file, { offset, content }] of Object.entries(files)) {
      if (file === "wandb-history.jsonl") run.history.splice(offset, content.length, ...content.map(parsed));
      if (file === "wandb-summary.json") run.summary = parsed(content[0] ?? "{}");
    }
    run.exitCode = exitcode ?? run.exitCode;
  }

  #run(name: string): SentRun {
    const found = this.runs.get(name) ?? { config: {}, history: [], summary: {}, exitCode: undefined };
    this.runs.set(name, found);
    return found;
  }
}

/** W&B's JSON has NaN and infinity, which come out as texts here. */
const parsed = (text: string): Readonly<Record<string, unknown>> =>
  JSON.parse(text.replace(/([:[,])(-?Infinity|NaN)(?=[,}\]])/g, '$1"$2"')) as Readonly<
    Record<string, unknown>
  >;
