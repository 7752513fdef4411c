/** A message server in this process, in real time, for ranks that train here: nothing is lost or delayed. */
import { EspalierError } from "../core/index.ts";
import { type Broker, type BrokerValues, systemTimers } from "./broker.ts";

interface Entry {
  readonly bytes: Uint8Array;
  readonly revision: number;
  readonly at: number;
  readonly by: MemoryBroker;
}

interface Listener {
  readonly by: MemoryBroker;
  readonly heard: (bytes: Uint8Array) => void;
}

export class MemoryServer {
  readonly tables = new Map<string, { readonly entries: Map<string, Entry>; readonly seconds: number }>();
  readonly listeners = new Map<string, Set<Listener>>();
  readonly maxPayload: number;
  /** Announced. */
  bytes = 0;
  revision = 0;
  /** How often each key of each values was put. */
  readonly puts = new Map<string, number>();

  constructor({ maxPayload = 2 ** 20 } = {}) {
    this.maxPayload = maxPayload;
  }

  connect(): MemoryBroker {
    return new MemoryBroker(this);
  }
}

export class MemoryBroker implements Broker {
  readonly address = "memory";
  readonly timers = systemTimers;
  readonly #server: MemoryServer;
  #state: "open" | "killed" = "open";

  constructor(server: MemoryServer) {
    this.#server = server;
  }

  get maxPayload(): number {
    return this.#server.maxPayload;
  }

  /** As if its process had been killed, and its leases had ended: nothing of it is heard any more. */
  kill(): void {
    this.#state = "killed";
    for (const { entries, seconds } of this.#server.tables.values())
      for (const [key, { by }] of entries) if (by === this && Number.isFinite(seconds)) entries.delete(key);
  }

  queue(): never {
    throw new EspalierError("TEST", "ranks have no queues");
  }

  async values(name: string, { seconds = Number.POSITIVE_INFINITY } = {}): Promise<BrokerValues> {
    const server = this.#server;
    const table = server.tables.get(name) ?? { entries: new Map<string, Entry>(), seconds };
    server.tables.set(name, table);
    const { entries } = table;
    const find = (key: string): Entry | undefined => {
      const found = entries.get(key);
      if (!found || performance.now() - found.at < table.seconds * 1000) return found;
      entries.delete(key);
      return undefined;
    };
    const answer = async <T>(work: () => T): Promise<T> => {
      if (this.#state === "killed") return new Promise(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
      return work();
    };
    return {
      put: (key, bytes, { revision } = {}) =>
        answer(() => {
          if (revision !== undefined && (find(key)?.revision ?? 0) !== revision) return undefined;
          server.puts.set(`${name} ${key}`, (server.puts.get(`${name} ${key}`) ?? 0) + 1);
          entries.set(key, { bytes, revision: ++server.revision, at: performance.now(), by: this });
          return server.revision;
        }),
      get: (key) => answer(() => find(key)),
      keys: () => answer(() => [...entries.keys()].filter((key) => find(key))),
      delete: (key) => answer(() => void entries.delete(key)),
      watch: () => () => undefined,
    };
  }

  announce(subject: string, bytes: Uint8Array): void {
    const server = this.#server;
    if (this.#state === "killed") return;
    if (bytes.length > this.maxPayload) throw new EspalierError("TEST", `${bytes.length} bytes in a message`);
    server.bytes += bytes.length;
    setImmediate(() => {
      for (const { by, heard } of server.listeners.get(subject) ?? [])
        if (by.#state === "open") heard(bytes.slice());
    });
  }

  listen(subject: string, heard: (bytes: Uint8Array) => void): () => void {
    const all = this.#server.listeners.get(subject) ?? new Set();
    this.#server.listeners.set(subject, all);
    const listener = { by: this, heard };
    all.add(listener);
    return () => all.delete(listener);
  }

  remove = async (): Promise<void> => undefined;
  close = async (): Promise<void> => undefined;
}
