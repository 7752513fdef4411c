import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { EspalierError } from "../../src/core/index.ts";
import type { PeerCase, Sampler, Subject } from "./figure.ts";

/** What a peer's process understands: one JSON object a line, answered by one line. */
export type PeerRequest =
  | { readonly do: "describe" }
  | { readonly do: "setup"; readonly case: string; readonly params: unknown }
  | { readonly do: "run"; readonly steps: number }
  | { readonly do: "sample"; readonly index: number }
  | { readonly do: "drop" };

interface Waiting {
  readonly resolve: (reply: Record<string, unknown>) => void;
  readonly reject: (cause: Error) => void;
}

/**
 * A peer in a process of its own that lives as long as the bench, so that its set-up is paid once and its batches can
 * take turns with ours. It waits on its input between them and uses no processor.
 */
export class Peer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #label: string;
  /** Requests not answered yet, oldest first: answers come in the order of the requests. */
  readonly #waiting: Waiting[] = [];
  #errors = "";
  #ended: EspalierError | undefined;

  constructor(label: string, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#label = label;
    this.#child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-2000);
    });
    this.#child.on("error", (cause) => this.#end(`could not be started: ${cause.message}`));
    this.#child.on("close", (code) => this.#end(`ended with code ${code}: ${lastLines(this.#errors)}`));
    this.#child.stdin.on("error", () => {}); // The end of the process says it better.
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#answer(line));
  }

  /** Name, version and device, for the report. */
  async describe(): Promise<string> {
    return String((await this.#ask({ do: "describe" })).text);
  }

  /** Makes the case ready. A process holds one case at a time. */
  async setUp(wanted: PeerCase): Promise<Subject & Sampler> {
    const { check } = await this.#ask({ do: "setup", case: wanted.case, params: wanted.params });
    return {
      ...(typeof check === "number" ? { check } : {}),
      run: async (steps) => Number((await this.#ask({ do: "run", steps })).seconds),
      sample: async (index) => Number((await this.#ask({ do: "sample", index })).sample),
    };
  }

  async drop(): Promise<void> {
    await this.#ask({ do: "drop" });
  }

  /** Closes the process's input, at which it ends. */
  stop(): void {
    this.#child.stdin.end();
  }

  #ask(request: PeerRequest): Promise<Record<string, unknown>> {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  }

  #answer(line: string): void {
    const waiting = this.#waiting.shift();
    let reply: Record<string, unknown>;
    try {
      reply = JSON.parse(line) as Record<string, unknown>;
    } catch {
      waiting?.reject(
        new EspalierError("PEER_FAILED", `${this.#label} answered "${line}", which is no JSON`),
      );
      return;
    }
    if (typeof reply.error === "string")
      waiting?.reject(new EspalierError("PEER_FAILED", `${this.#label}: ${reply.error}`));
    else waiting?.resolve(reply);
  }

  #end(how: string): void {
    this.#ended ??= new EspalierError("PEER_FAILED", `${this.#label} ${how}`);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended);
  }
}

const lastLines = (text: string): string => text.trim().split("\n").slice(-3).join(" | ");
