/**
 * The broker by NATS JetStream. What a name is on the server:
 *
 *     queue NAME     stream espalier-q-NAME, subject espalier.q.NAME: work queue in a file, refuses what is too much,
 *                    with one durable pull consumer that all who take from it share
 *     values NAME    stream espalier-v-NAME, subjects espalier.v.NAME.KEY: the last message of each subject, in a file
 *     announce WHAT  subject espalier.a.WHAT: no stream
 *
 * The packages @nats-io/transport-node and @nats-io/jetstream are loaded with the first connection.
 */
import type { JetStreamClient, JetStreamManager, JsMsg } from "@nats-io/jetstream";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import {
  EspalierError,
  environmentVariable,
  node,
  type Options,
  option,
  resolveOptions,
  toStandardError,
} from "../core/index.ts";
import {
  type Broker,
  type BrokerValues,
  type Delivery,
  type MessageQueue,
  type QueueOptions,
  systemTimers,
  type ValuesOptions,
} from "./broker.ts";

/** Rows of the options of a connection, which all parts of a cluster take. */
export const natsRows = {
  /** Addresses: "nats://host:4222", or several of one cluster. Default: NATS_URL, else nats://127.0.0.1:4222. */
  servers: option.made<string | readonly string[]>(
    "an address, such as nats://host:4222, or a list of them",
    (value) => (typeof value === "string" && value !== "") || (Array.isArray(value) && value.length > 0),
    { doc: "Addresses of the NATS server. Default: NATS_URL." },
  ),
  /** Default: NATS_TOKEN; or NATS_USER with NATS_PASSWORD, NATS_NKEY (a file with a seed), NATS_CREDS (a file). */
  token: option.text({ doc: "The server's token. Default: NATS_TOKEN." }),
  /** Files of TLS. Default: NATS_CA, NATS_CERT, NATS_KEY. */
  tls: option.made<{ readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }>(
    "files: { caFile, certFile, keyFile }",
    (value) => typeof value === "object" && value !== null,
    { doc: "Files of TLS. Default: NATS_CA, NATS_CERT, NATS_KEY." },
  ),
  /** Copies of queues and values in a cluster of servers. Default: 1. */
  replicas: option.integer({ min: 1, max: 5, default: 1, doc: "Copies in a cluster of servers." }),
  /** Seconds to wait for the server at the beginning. Default: 10. */
  patience: option.number({ min: 0, default: 10, doc: "Seconds to wait for the server at the beginning." }),
  /** Takes messages about a server that is away. Default: standard error. */
  warn: option.made<(text: string) => void>(
    "a function of a text",
    (value) => typeof value === "function",
    {},
  ),
};

/** How to reach a NATS server. What is left out is taken from the environment. */
export interface NatsOptions extends Options<typeof natsRows> {}

/** Milliseconds for which the server may be silent about one request. */
const answerWithin = 5000;
/** Milliseconds for which the server remembers ids of messages. */
const remembered = 10 * 60 * 1000;
/** Bytes of a message's headers, at most. */
const headerRoom = 1024;
/** Smaller messages than this would make thousands of pieces. */
const smallestPayload = 16 * 1024;
/** Larger ones hold up those of others. */
const largestPayload = 8 * 1024 * 1024;

const nanoseconds = (milliseconds: number): number => milliseconds * 1_000_000;

/**
 * Connects to a NATS server with JetStream. It reconnects by itself; that the server is away is said once each time.
 *
 * @example
 * ```ts
 * const broker = await natsBroker({ servers: "nats://trainer:4222", token: process.env.NATS_TOKEN });
 * const members = await listMembers(broker, "maze");
 * await broker.close();
 * ```
 */
export async function natsBroker(options: NatsOptions = {}): Promise<Broker> {
  const settings = resolveOptions("natsBroker", options, natsRows);
  const { warn = toStandardError, replicas } = settings;
  const { connect, jetstream } = await loadClient();
  const servers = [settings.servers ?? environmentVariable("NATS_URL") ?? "nats://127.0.0.1:4222"].flat();
  const address = servers.map(withoutCredentials).join(", ");
  const connection = await firstConnection(address, settings.patience, async () =>
    connect.connect({
      servers: [...servers],
      name: "espalier",
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      pingInterval: 10_000,
      timeout: answerWithin,
      ...credentials(connect, settings.token),
      ...tlsOptions(settings.tls),
    }),
  );
  const given = connection.info?.max_payload ?? 2 ** 20;
  if (given < smallestPayload) {
    await connection.close();
    throw new EspalierError("CLUSTER_PAYLOAD", `${address} takes messages of at most ${given} bytes`, {
      fix: `give it max_payload: ${smallestPayload} or more (1 MB is the default of nats-server, 8 MB that of espalier cluster up)`,
    });
  }
  let manager: JetStreamManager;
  try {
    manager = await jetstream.jetstreamManager(connection, { timeout: answerWithin });
  } catch (cause) {
    await connection.close();
    throw new EspalierError("CLUSTER_NO_JETSTREAM", `${address} does not keep messages: ${textOf(cause)}`, {
      fix: "start it with JetStream: nats-server -js -sd DIRECTORY, or espalier cluster up",
      cause,
    });
  }
  const client = jetstream.jetstream(connection, { timeout: answerWithin });
  void sayWhenAway(connection, address, warn);
  const broker = new NatsBroker({ connection, client, manager, address, replicas });
  void connection.closed().then((error) => error && warn(refused(address, error).message));
  return broker;
}

/** The parts of a connection. */
interface BrokerParts {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly address: string;
  readonly replicas: number;
}

class NatsBroker implements Broker {
  readonly timers = systemTimers;
  readonly maxPayload: number;
  readonly #parts: BrokerParts;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    this.maxPayload = Math.min(parts.connection.info?.max_payload ?? 2 ** 20, largestPayload) - headerRoom;
  }

  get address(): string {
    return this.#parts.address;
  }

  async queue(name: string, { capacity, acknowledgeWithin }: QueueOptions): Promise<MessageQueue> {
    const { address, client, manager, replicas } = this.#parts;
    const stream = `espalier-q-${name}`;
    const subject = `espalier.q.${name}`;
    await openStream(this.#parts, stream, {
      subjects: [subject],
      retention: "workqueue",
      discard: "new",
      ...(capacity !== undefined && { max_msgs: capacity }),
      duplicate_window: nanoseconds(remembered),
      num_replicas: replicas,
    });
    return {
      put: async (id, bytes) => {
        try {
          const { duplicate } = await client.publish(subject, bytes, { msgID: id });
          return duplicate ? "known" : "stored";
        } catch (cause) {
          if (codeOf(cause) === codes.tooMany) return "full";
          throw unanswered(address, "a message was not stored", cause);
        }
      },
      consume: async (take, { ahead, each = ahead, alone = false }) => {
        const config = {
          durable_name: "takers",
          ack_policy: "explicit",
          ack_wait: nanoseconds(acknowledgeWithin),
          max_ack_pending: ahead,
        } as const;
        if (alone) await manager.consumers.delete(stream, "takers").catch(() => undefined);
        await answered(address, () => manager.consumers.add(stream, config));
        const consumer = await answered(address, () => client.consumers.get(stream, "takers"));
        const messages = await consumer.consume({
          max_messages: each,
          callback: (message) => take(delivery(message)),
        });
        return async () => void (await messages.close());
      },
      length: async () => (await answered(address, () => manager.streams.info(stream))).state.messages,
    };
  }

  async values(name: string, { seconds }: ValuesOptions = {}): Promise<BrokerValues> {
    const { address, client, connection, manager, replicas } = this.#parts;
    const stream = `espalier-v-${name}`;
    const subject = (key: string): string => `espalier.v.${name}.${key}`;
    await openStream(this.#parts, stream, {
      subjects: [subject(">")],
      max_msgs_per_subject: 1,
      allow_direct: true,
      num_replicas: replicas,
      ...(seconds !== undefined && {
        max_age: nanoseconds(seconds * 1000),
        duplicate_window: nanoseconds(Math.min(seconds * 1000, remembered)),
      }),
    });
    return {
      put: async (key, bytes, { revision } = {}) => {
        try {
          const expect = revision === undefined ? {} : { expect: { lastSubjectSequence: revision } };
          return (await client.publish(subject(key), bytes, expect)).seq;
        } catch (cause) {
          if (codeOf(cause) === codes.otherRevision) return undefined;
          throw unanswered(address, `the value "${key}" was not stored`, cause);
        }
      },
      get: async (key) => {
        const found = await answered(address, () =>
          manager.direct.getMessage(stream, { last_by_subj: subject(key) }),
        );
        return found ? { bytes: found.data, revision: found.seq } : undefined;
      },
      keys: async () => {
        const { state } = await answered(address, () =>
          manager.streams.info(stream, { subjects_filter: ">" }),
        );
        return Object.keys(state.subjects ?? {}).map((one) => one.slice(subject("").length));
      },
      delete: async (key) => {
        await answered(address, () => manager.streams.purge(stream, { filter: subject(key) }));
      },
      watch: (changed) => {
        const subscription = connection.subscribe(subject(">"), {
          callback: (error, message) => {
            if (!error) changed(message.subject.slice(subject("").length), message.data);
          },
        });
        return () => subscription.unsubscribe();
      },
    };
  }

  announce(subject: string, bytes: Uint8Array): void {
    const { connection } = this.#parts;
    if (!connection.isClosed()) connection.publish(`espalier.a.${subject}`, bytes);
  }

  listen(subject: string, heard: (bytes: Uint8Array) => void): () => void {
    const subscription = this.#parts.connection.subscribe(`espalier.a.${subject}`, {
      callback: (error, { data }) => {
        if (!error) heard(data);
      },
    });
    return () => subscription.unsubscribe();
  }

  async remove(prefix: string): Promise<void> {
    const { address, manager } = this.#parts;
    const begins = ["espalier-q-", "espalier-v-"].map((kind) => `${kind}${prefix}`);
    for await (const name of manager.streams.names())
      if (begins.some((begin) => name.startsWith(begin)))
        await answered(address, () => manager.streams.delete(name));
  }

  async close(): Promise<void> {
    const { connection } = this.#parts;
    if (connection.isClosed()) return;
    // What was announced last goes out before the connection ends, if the server is there.
    await Promise.race([
      connection.flush().catch(() => undefined),
      new Promise((resolve) => this.timers.after(500, () => resolve(undefined))),
    ]);
    await connection.close();
  }
}

const delivery = (message: JsMsg): Delivery => ({
  id: message.headers?.get("Nats-Msg-Id") ?? "",
  bytes: message.data,
  acknowledge: () => message.ack(),
  extend: () => message.working(),
  release: () => message.nak(),
});

/** Makes a stream, or gives one that is there the capacity that is asked for. */
async function openStream(
  parts: BrokerParts,
  name: string,
  config: Omit<Parameters<JetStreamManager["streams"]["add"]>[0], "name">,
): Promise<void> {
  const { address, manager } = parts;
  const there = await manager.streams.info(name).catch((cause: unknown) => {
    if (codeOf(cause) === codes.noStream) return undefined;
    throw unanswered(address, `${name} was not found`, cause);
  });
  if (!there)
    await manager.streams.add({ ...config, name, storage: "file" }).catch((cause: unknown) => {
      // Another has made it meanwhile, with another capacity.
      if (codeOf(cause) === codes.nameTaken) return openStream(parts, name, config);
      throw unanswered(address, "a request failed", cause);
    });
  else if (config.max_msgs !== undefined && there.config.max_msgs !== config.max_msgs)
    await answered(address, () => manager.streams.update(name, { max_msgs: config.max_msgs as number }));
}

/** Codes of JetStream's errors. */
const codes = {
  nameTaken: 10058,
  noStream: 10059,
  otherRevision: 10071,
  tooMany: 10077,
  noRoom: [10023, 10028, 10047, 10068],
} as const;

const codeOf = (cause: unknown): number => {
  const { name, code } = (cause ?? {}) as { readonly name?: string; readonly code?: unknown };
  return name !== undefined && typeof code === "number" ? code : 0;
};

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

async function answered<T>(address: string, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    throw unanswered(address, "a request failed", cause);
  }
}

/** The error of a request: the server has no room, or did not answer. */
function unanswered(address: string, what: string, cause: unknown): EspalierError {
  if ((codes.noRoom as readonly number[]).includes(codeOf(cause)) || /no space left/i.test(textOf(cause)))
    return new EspalierError("CLUSTER_SERVER_FULL", `${address}: ${what}: ${textOf(cause)}`, {
      fix: "make room on the server's disk, or give it more: max_file_store of its jetstream",
      cause,
    });
  return new EspalierError("CLUSTER_NO_ANSWER", `${address}: ${what}: ${textOf(cause)}`, {
    fix: "look whether the server runs and can be reached; requests are made again when it answers",
    cause,
  });
}

function refused(address: string, cause: unknown): EspalierError {
  return new EspalierError("CLUSTER_REFUSED", `${address} refuses the connection: ${textOf(cause)}`, {
    fix: "give its token: NATS_TOKEN, as espalier cluster up printed it; or NATS_NKEY, NATS_CREDS, NATS_USER and NATS_PASSWORD",
    cause,
  });
}

/** Connects within the patience. Credentials that are refused are not tried again. */
async function firstConnection(
  address: string,
  patience: number,
  connect: () => Promise<NatsConnection>,
): Promise<NatsConnection> {
  const until = performance.now() + patience * 1000;
  for (;;) {
    try {
      return await connect();
    } catch (cause) {
      if (/authorization|authentication|nkey|signature/i.test(`${(cause as Error).name} ${textOf(cause)}`))
        throw refused(address, cause);
      if (performance.now() >= until)
        throw new EspalierError(
          "CLUSTER_UNREACHABLE",
          `no NATS server answers at ${address}: ${textOf(cause)}`,
          {
            fix: "start one: espalier cluster up, or nats-server -js; and name it: servers, or NATS_URL",
            cause,
          },
        );
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function sayWhenAway(
  connection: NatsConnection,
  address: string,
  warn: (text: string) => void,
): Promise<void> {
  let away = false;
  for await (const { type } of connection.status()) {
    if (type === "disconnect" && !away) {
      away = true;
      warn(`the NATS server at ${address} is away; waiting for it`);
    } else if (type === "reconnect" && away) {
      away = false;
      warn(`the NATS server at ${address} is back`);
    }
  }
}

async function loadClient(): Promise<{
  readonly connect: typeof import("@nats-io/transport-node");
  readonly jetstream: typeof import("@nats-io/jetstream");
}> {
  const [connect, jetstream] = await Promise.all([
    import("@nats-io/transport-node"),
    import("@nats-io/jetstream"),
  ]);
  return { connect, jetstream };
}

/** Who this is, from the options or the environment: nats's own command reads the same variables. */
function credentials(
  { credsAuthenticator, nkeyAuthenticator }: typeof import("@nats-io/transport-node"),
  given: string | undefined,
): Partial<NodeConnectionOptions> {
  const file = (name: string): Uint8Array | undefined => {
    const path = environmentVariable(name);
    if (!path) return undefined;
    try {
      return node.fs.readFileSync(path);
    } catch (cause) {
      throw new EspalierError("CLUSTER_CREDENTIALS", `${name} is ${path}: ${textOf(cause)}`, {
        fix: `let ${name} name a file that can be read`,
        cause,
      });
    }
  };
  const token = given ?? environmentVariable("NATS_TOKEN");
  if (token) return { token };
  const seed = file("NATS_NKEY");
  if (seed)
    return {
      authenticator: nkeyAuthenticator(new TextEncoder().encode(new TextDecoder().decode(seed).trim())),
    };
  const creds = file("NATS_CREDS");
  if (creds) return { authenticator: credsAuthenticator(creds) };
  const user = environmentVariable("NATS_USER");
  return user ? { user, pass: environmentVariable("NATS_PASSWORD") ?? "" } : {};
}

function tlsOptions(given: NatsOptions["tls"]): Partial<NodeConnectionOptions> {
  const caFile = given?.caFile ?? environmentVariable("NATS_CA");
  const certFile = given?.certFile ?? environmentVariable("NATS_CERT");
  const keyFile = given?.keyFile ?? environmentVariable("NATS_KEY");
  if (!caFile && !certFile && !keyFile) return {};
  return { tls: { ...(caFile && { caFile }), ...(certFile && { certFile }), ...(keyFile && { keyFile }) } };
}

/** An address as people may see it. */
const withoutCredentials = (address: string): string => address.replace(/\/\/[^@/]*@/, "//");
