import { once } from "node:events";
import { createServer, connect as open, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { deserialize, serialize } from "node:v8";
import { receiveError, type SentError, sendError } from "../core/index.ts";
import type { WorkerStart } from "./processes.ts";
import type { WorkerLink } from "./rollout.ts";

// Links of worker processes that a test drives from its own process: what is called here is called on the link there.
//
//   DrivenLinks (the test)  ── { n, call, given } ──▶  driven (the worker process)   link.receive, link.send, link.close
//                           ◀── { n, value | error } ──

interface Call {
  readonly n: number;
  readonly call: "receive" | "send" | "close" | "abort";
  readonly given: readonly unknown[];
}

type Answer = { readonly n: number } & ({ readonly value: unknown } | { readonly error: SentError });

const write = (socket: Socket, message: unknown): void =>
  void socket.write(`${serialize(message).toString("base64")}\n`);

async function* messages<T>(socket: Socket): AsyncGenerator<T> {
  try {
    for await (const line of createInterface({ input: socket }))
      yield deserialize(Buffer.from(line, "base64"));
  } catch (error) {
    // The other side was killed.
    if ((error as NodeJS.ErrnoException).code !== "ECONNRESET") throw error;
  }
}

/** A worker that does what the test says. */
export function driven({ index, link, options }: WorkerStart<{ readonly port: number }>) {
  return {
    async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
      const socket = open({ port: options.port, host: "127.0.0.1", allowHalfOpen: true });
      write(socket, index);
      const running = new Map<number, AbortController>();
      const answers: Promise<void>[] = [];
      const perform = async ({ n, call, given: [first, wait] }: Call): Promise<void> => {
        const controller = new AbortController();
        running.set(n, controller);
        const answer = await (async () => {
          const { signal } = controller;
          if (call === "receive") return link.receive({ wait: wait as boolean, signal });
          if (call === "send") return link.send(first as Parameters<WorkerLink["send"]>[0], { signal });
          return link.close();
        })().then(
          (value): Answer => ({ n, value }),
          (error: unknown): Answer => ({ n, error: sendError(error) }),
        );
        write(socket, answer);
      };
      // The test ends its side then: all that it called before is answered.
      signal.addEventListener("abort", () => write(socket, "ending"));
      for await (const call of messages<Call>(socket))
        if (call.call === "abort") running.get(call.n)?.abort(new Error("aborted"));
        else answers.push(perform(call));
      await Promise.all(answers);
      await new Promise<void>((resolve) => socket.end(resolve));
    },
  };
}

/** The test's side: links of the processes' workers, by their index. Calls wait until the worker is there. */
export class DrivenLinks {
  readonly links: readonly WorkerLink[];
  readonly #server: Server = createServer({ allowHalfOpen: true }, (socket) => void this.#serve(socket));
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  readonly #sockets: (Socket | undefined)[] = [];
  readonly #connected: (() => void)[] = [];
  #calls = 0;

  constructor(count: number) {
    this.links = Array.from({ length: count }, (_, index) => ({
      receive: async ({ wait = false, signal } = {}) =>
        (await this.#call(index, "receive", [0, wait], signal)) as never,
      send: async (rollout, { signal } = {}) => void (await this.#call(index, "send", [rollout], signal)),
      close: async () => void (await this.#call(index, "close", [])),
    }));
  }

  async listen(): Promise<{ readonly port: number }> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return { port: (this.#server.address() as { port: number }).port };
  }

  close(): void {
    this.#server.close();
  }

  /** Resolves when the worker of this index is there, or another after it was killed. */
  async connected(index: number): Promise<Socket> {
    for (;;) {
      const socket = this.#sockets[index];
      if (socket) return socket;
      await new Promise<void>((resolve) => this.#connected.push(resolve));
    }
  }

  async #call(
    index: number,
    call: Call["call"],
    given: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<unknown> {
    const n = ++this.#calls;
    const socket = await this.connected(index);
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(n, { resolve, reject }));
    const lost = (): void => this.#waiting.get(n)?.reject(new Error("the worker has died"));
    const abort = (): void => write(socket, { n, call: "abort", given: [] } satisfies Call);
    socket.once("close", lost);
    write(socket, { n, call, given } satisfies Call);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    return answer.finally(() => {
      this.#waiting.delete(n);
      socket.removeListener("close", lost);
    });
  }

  async #serve(socket: Socket): Promise<void> {
    socket.on("error", () => undefined);
    let index: number | undefined;
    socket.on("close", () => {
      if (index !== undefined) this.#sockets[index] = undefined;
    });
    for await (const message of messages<number | "ending" | Answer>(socket))
      if (message === "ending") socket.end();
      else if (typeof message === "number") {
        index = message;
        this.#sockets[index] = socket;
        for (const resolve of this.#connected.splice(0)) resolve();
      } else if ("error" in message) this.#waiting.get(message.n)?.reject(receiveError(message.error));
      else this.#waiting.get(message.n)?.resolve(message.value);
    // Half of it would stay open after a worker that was killed.
    socket.destroy();
  }
}
