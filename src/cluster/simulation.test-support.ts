/**
 * A message server in memory with virtual time: the {@link Broker} that the simulated cluster (simulated-run.test-support.ts)
 * runs on. All that happens follows from one seed.
 *
 *     Simulation          virtual time: a queue of events; promises settle between two of them
 *     SimulatedServer     queues, values and announcements, and the network to its clients
 *       connect(name)     a client's Broker; a message passes its link up, the server's, and the way back
 *       crash(ms)         what was stored survives; connections break; acknowledgements of late may be forgotten
 *       diskFull          puts reject
 *     SimulatedBroker
 *       cut(ms)           a partition: what is sent meanwhile is lost, or arrives afterwards, however late
 *       kill()            its process is gone: nothing of it happens any more
 *
 * What NATS does and this does too: a watcher hears of puts that are then refused; a server that was restarted no longer
 * knows the ids of messages which had been acknowledged; a request that was given up may still arrive.
 */
import { EspalierError } from "../core/index.ts";
import type {
  Broker,
  BrokerValues,
  Delivery,
  MessageQueue,
  QueueOptions,
  StoredValue,
  Timers,
  ValuesOptions,
} from "./broker.ts";

/** Numbers that follow from a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** A whole number from 0 to n - 1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  chance(share: number): boolean {
    return share > 0 && this.next() < share;
  }
}

interface Event {
  readonly time: number;
  readonly order: number;
  /** False where it happens at the server: no promise can settle by it. */
  readonly isOfClient: boolean;
  /** Undefined where it was cancelled. */
  run: (() => void) | undefined;
}

/** Virtual time. Milliseconds. */
export class Simulation {
  readonly random: Random;
  now = 0;
  events = 0;
  readonly #log: ((line: string) => void) | undefined;
  /** A heap: no event comes before the one at half its index. */
  readonly #heap: Event[] = [];
  #order = 0;
  #low = 0x811c9dc5;
  #high = 0x1b873593;
  #failure: unknown;

  constructor(seed: number, log?: (line: string) => void) {
    this.random = new Random(seed);
    this.#log = log;
  }

  /** Calls `run` after so many milliseconds, unless the function that it returns is called before. */
  after(milliseconds: number, run: () => void): () => void {
    return this.at(this.now + Math.max(0, milliseconds), run);
  }

  /** The same at a time that is not over. */
  at(time: number, run: () => void, isOfClient = true): () => void {
    const event: Event = { time, order: this.#order++, isOfClient, run };
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = heap[above] as Event;
      if (isBefore(other, event)) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = event;
    return () => {
      event.run = undefined;
    };
  }

  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.after(milliseconds, resolve));
  }

  /** Writes a line of the log: two runs of a seed have the same. */
  note(what: string): void {
    for (let i = 0; i < what.length; i++) this.#mix(what.charCodeAt(i));
    this.#log?.(`${(this.now / 1000).toFixed(3).padStart(8)} ${what}`);
  }

  /** Ends the run with an error. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** Of all events so far: their times, their order, and the lines of the log. */
  get hash(): string {
    return [this.#low, this.#high].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /** Runs events until `isOver`. Rejects where nothing more can happen before, or after a failure. */
  run(isOver: () => boolean): Promise<void> {
    const settled = Promise.resolve();
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          if (this.#failure !== undefined) throw this.#failure;
          if (isOver()) resolve();
          else {
            while (!this.#runNext().isOfClient);
            void settled.then(next);
          }
        } catch (error) {
          reject(error);
        }
      };
      // A tick that is asked for by a microtask comes when all microtasks are done: every promise has settled.
      const next = (): void => process.nextTick(step);
      next();
    });
  }

  #runNext(): Event {
    const event = this.#pop();
    if (!event) throw new Error("simulation: nothing can happen any more");
    this.now = event.time;
    this.events++;
    this.#mix(Math.round(event.time * 1000));
    this.#mix(event.order);
    event.run?.();
    return event;
  }

  #mix(word: number): void {
    this.#low = Math.imul(this.#low ^ word, 0x01000193);
    this.#high = Math.imul(this.#high ^ (word + (this.#low >>> 13)), 0x85ebca6b);
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    for (;;) {
      const [first] = heap;
      const last = heap.pop();
      if (!first || !last) return undefined;
      if (first !== last) {
        let at = 0;
        for (;;) {
          let below = 2 * at + 1;
          if (below >= heap.length) break;
          const right = heap[below + 1];
          if (right && isBefore(right, heap[below] as Event)) below++;
          if (isBefore(last, heap[below] as Event)) break;
          heap[at] = heap[below] as Event;
          at = below;
        }
        heap[at] = last;
      }
      if (first.run) return first;
    }
  }
}

const isBefore = (a: Event, b: Event): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);

/** The way of a client to the server. */
export interface LinkOptions {
  /** Milliseconds of a message without bytes, one way; and the mean of what comes on top, another for each. */
  readonly latency: number;
  readonly jitter: number;
  /** Bytes in a millisecond, each way. */
  readonly speed: number;
}

const fastLink: LinkOptions = { latency: 0.5, jitter: 0.1, speed: Number.POSITIVE_INFINITY };

/** Shares of messages with a fault. */
export interface Faults {
  /** Lost: announcements, what watchers hear, and acknowledgements. */
  announcements: number;
  watched: number;
  acknowledgements: number;
  /** Puts into queues that the network makes twice, the second time within `doubledWithin` milliseconds. */
  doubled: number;
  doubledWithin: number;
  /** Announcements that are overtaken by others. */
  overtaken: number;
  /** Requests that are held up for longer than their sender waits, and then arrive after what was sent later. */
  stragglers: number;
}

export const noFaults: Readonly<Faults> = {
  announcements: 0,
  watched: 0,
  acknowledgements: 0,
  doubled: 0,
  doubledWithin: 2000,
  overtaken: 0,
  stragglers: 0,
};

export interface ServerOptions {
  readonly maxPayload: number;
  /** Bytes in a millisecond of the server's network each way, and of its disk. */
  readonly speed: number;
  readonly disk: number;
  /** Milliseconds for which ids of messages are remembered, and for which clients wait for an answer. */
  readonly remembers: number;
  readonly answersWithin: number;
  readonly faults: Readonly<Faults>;
}

/** Requests, and what is sent without an answer. */
const messageKinds = ["open", "put", "set", "get", "announce", "watch", "deliver", "acknowledge"] as const;
type MessageKind = (typeof messageKinds)[number];

export interface Traffic {
  messages: number;
  bytes: number;
}

const noTraffic = (): Record<MessageKind, Traffic> =>
  Object.fromEntries(messageKinds.map((kind) => [kind, { messages: 0, bytes: 0 }])) as ReturnType<
    typeof noTraffic
  >;

/** What passed through a server. */
export interface ServerCounts {
  /** Messages to the server and from it, and their bytes, by their kind. Answers have the kind of the request. */
  readonly in: Record<MessageKind, Traffic>;
  readonly out: Record<MessageKind, Traffic>;
  /** Puts that a full queue refused. */
  refused: number;
  /** Requests that were given up, and deliveries of messages. */
  unanswered: number;
  deliveries: number;
  /** The most messages of a queue, and the most bytes of all queues and values together. */
  longest: number;
  mostBytes: number;
}

/** What bytes pass one after the other. */
class Channel {
  speed: number;
  #free = 0;

  constructor(speed: number) {
    this.speed = speed;
  }

  /** Milliseconds until bytes that come now have passed. */
  pass(now: number, bytes: number): number {
    this.#free = Math.max(now, this.#free) + sizeOf(bytes) / this.speed;
    return this.#free - now;
  }
}

/** Sizes in steps, so that names of machines and numbers of processes in messages do not change what happens. */
const sizeOf = (bytes: number): number => (bytes <= 512 ? 64 : 512 * Math.ceil(bytes / 512));

/** The server. */
export class SimulatedServer {
  readonly simulation: Simulation;
  readonly options: ServerOptions;
  /** Changed by who simulates faults. */
  faults: Readonly<Faults>;
  diskFull = false;
  state: "up" | "down" = "up";
  /** Counts crashes. A message to a server that has crashed since is lost. */
  life = 0;
  readonly counts: ServerCounts = {
    in: noTraffic(),
    out: noTraffic(),
    refused: 0,
    unanswered: 0,
    deliveries: 0,
    longest: 0,
    mostBytes: 0,
  };
  readonly queues = new Map<string, ServerQueue>();
  readonly tables = new Map<string, ServerTable>();
  readonly listeners = new Map<string, Set<Listener>>();
  readonly clients = new Set<SimulatedBroker>();
  readonly in: Channel;
  readonly out: Channel;
  readonly disk: Channel;
  #bytes = 0;
  #downUntil = 0;

  constructor(simulation: Simulation, options: Partial<ServerOptions> = {}) {
    this.simulation = simulation;
    this.options = {
      maxPayload: 2 ** 20,
      speed: Number.POSITIVE_INFINITY,
      disk: Number.POSITIVE_INFINITY,
      remembers: 600_000,
      answersWithin: 5000,
      faults: noFaults,
      ...options,
    };
    this.faults = this.options.faults;
    this.in = new Channel(this.options.speed);
    this.out = new Channel(this.options.speed);
    this.disk = new Channel(this.options.disk);
  }

  connect(name: string, link: LinkOptions = fastLink): SimulatedBroker {
    const client = new SimulatedBroker(this, name, link);
    this.clients.add(client);
    return client;
  }

  /** Ends the server, and starts it again after so many milliseconds. */
  crash(milliseconds: number): void {
    const { simulation } = this;
    simulation.note(`server crashes for ${Math.round(milliseconds)} ms`);
    this.state = "down";
    this.life++;
    this.#downUntil = Math.max(this.#downUntil, simulation.now + milliseconds);
    for (const queue of this.queues.values()) queue.lose();
    for (const client of this.clients) client.reconnect(milliseconds + simulation.random.between(10, 1000));
    simulation.after(milliseconds, () => {
      if (simulation.now < this.#downUntil) return;
      simulation.note("server is back");
      this.state = "up";
    });
  }

  count(way: "in" | "out", kind: MessageKind, bytes: number): void {
    const traffic = this.counts[way][kind];
    traffic.messages++;
    traffic.bytes += bytes;
  }

  /** Counts bytes that are stored, or removed where they are less than 0. */
  store(bytes: number): void {
    this.#bytes += bytes;
    this.counts.mostBytes = Math.max(this.counts.mostBytes, this.#bytes);
  }

  tell(
    listeners: Iterable<Listener> | undefined,
    key: string,
    bytes: Uint8Array,
    kind: "announce" | "watch",
  ): void {
    const { announcements, overtaken, watched } = this.faults;
    const isWatch = kind === "watch";
    const { random } = this.simulation;
    for (const { client, heard } of listeners ?? [])
      if (!random.chance(isWatch ? watched : announcements))
        client.push(kind, bytes.length, () => heard(key, bytes), random.chance(isWatch ? 0 : overtaken));
  }
}

/** One who hears announcements or watches values. */
interface Listener {
  readonly client: SimulatedBroker;
  readonly heard: (key: string, bytes: Uint8Array) => void;
}

interface Message {
  readonly number: number;
  readonly id: string;
  readonly bytes: Uint8Array;
  state: "waiting" | "delivered" | "acknowledged";
  /** Counts its deliveries. */
  deliveries: number;
  /** When it is delivered again. */
  due: number;
}

interface Consumer {
  readonly client: SimulatedBroker;
  readonly take: (delivery: Delivery) => void;
  readonly ahead: number;
}

/** Milliseconds before a crash whose acknowledgements may be forgotten. */
const unsynced = 300;

class ServerQueue {
  capacity: number;
  /** Ids of messages that were stored or delivered more than once. */
  readonly repeated = new Set<string>();
  readonly #acknowledgeWithin: number;
  readonly #server: SimulatedServer;
  readonly #messages = new Map<number, Message>();
  /** In order; those that come again first. */
  #waiting: Message[] = [];
  readonly #ever = new Set<string>();
  /** When each id that is remembered was put. */
  #ids = new Map<string, number>();
  #consumers: Consumer[] = [];
  #acknowledged: { readonly message: Message; readonly at: number }[] = [];
  #pending = 0;
  #numbers = 0;
  #turn = 0;

  constructor(server: SimulatedServer, { capacity = Infinity, acknowledgeWithin }: QueueOptions) {
    this.#server = server;
    this.capacity = capacity;
    this.#acknowledgeWithin = acknowledgeWithin;
  }

  get length(): number {
    return this.#messages.size;
  }

  put(id: string, bytes: Uint8Array): "stored" | "known" | "full" {
    const { counts, options, simulation } = this.#server;
    const at = this.#ids.get(id);
    if (at !== undefined && simulation.now - at <= options.remembers) return "known";
    if (this.#messages.size >= this.capacity) {
      counts.refused++;
      return "full";
    }
    if (this.#ever.has(id)) this.repeated.add(id);
    this.#ever.add(id);
    this.#ids.set(id, simulation.now);
    const message: Message = { number: this.#numbers++, id, bytes, state: "waiting", deliveries: 0, due: 0 };
    this.#keep(message);
    this.#waiting.push(message);
    counts.longest = Math.max(counts.longest, this.#messages.size);
    this.deliver();
    return "stored";
  }

  consume(consumer: Consumer, alone: boolean): void {
    if (alone) {
      this.#consumers = [];
      this.#allAgain();
    }
    this.#consumers.push(consumer);
    this.deliver();
  }

  isConsumedBy(client: SimulatedBroker): boolean {
    return this.#consumers.some((one) => one.client === client);
  }

  end(isOver: (consumer: Consumer) => boolean): void {
    this.#consumers = this.#consumers.filter((one) => !isOver(one));
  }

  /** The server crashes: what was delivered comes again, and ids are known only of messages that are there. */
  lose(): void {
    const { random, now } = this.#server.simulation;
    for (const { message, at } of this.#acknowledged)
      if (now - at <= unsynced && random.chance(0.3)) this.#keep(message);
    this.#acknowledged = [];
    this.#allAgain();
    this.#ids = new Map(this.#waiting.map(({ id }) => [id, now]));
  }

  deliver(): void {
    const consumers = this.#consumers.filter(({ client }) => client.isConnected);
    while (this.#server.state === "up" && this.#waiting.length > 0 && consumers.length > 0) {
      const consumer = consumers[this.#turn++ % consumers.length] as Consumer;
      if (this.#pending >= consumer.ahead) return;
      this.#send(this.#waiting.shift() as Message, consumer);
    }
  }

  #keep(message: Message): void {
    message.state = "waiting";
    this.#messages.set(message.number, message);
    this.#server.store(message.bytes.length);
  }

  #allAgain(): void {
    for (const message of this.#messages.values()) message.state = "waiting";
    this.#waiting = [...this.#messages.values()].sort((a, b) => a.number - b.number);
    this.#pending = 0;
  }

  #again(message: Message): void {
    message.state = "waiting";
    this.#pending--;
    this.#waiting.unshift(message);
    this.deliver();
  }

  #send(message: Message, { client, take }: Consumer): void {
    const { simulation, counts } = this.#server;
    const delivery = ++message.deliveries;
    const isCurrent = (): boolean => message.state === "delivered" && message.deliveries === delivery;
    message.state = "delivered";
    this.#pending++;
    if (delivery > 1) this.repeated.add(message.id);
    counts.deliveries++;
    const extend = (): void => {
      message.due = simulation.now + this.#acknowledgeWithin;
    };
    const look = (): void => {
      if (!isCurrent()) return;
      if (message.due > simulation.now) simulation.at(message.due, look, false);
      else this.#again(message);
    };
    extend();
    simulation.at(message.due, look, false);
    client.push("deliver", message.bytes.length, () =>
      take({
        id: message.id,
        bytes: message.bytes,
        acknowledge: () => {
          if (simulation.random.chance(this.#server.faults.acknowledgements)) return;
          client.send("acknowledge", 0, () => this.#acknowledge(message));
        },
        extend: () => void client.send("acknowledge", 0, () => isCurrent() && extend()),
        release: () => void client.send("acknowledge", 0, () => isCurrent() && this.#again(message)),
      }),
    );
  }

  #acknowledge(message: Message): void {
    const { simulation } = this.#server;
    if (message.state === "acknowledged") return;
    if (message.state === "delivered") this.#pending--;
    else this.#waiting = this.#waiting.filter((one) => one !== message);
    message.state = "acknowledged";
    this.#messages.delete(message.number);
    this.#server.store(-message.bytes.length);
    if (simulation.now - (this.#acknowledged[0]?.at ?? simulation.now) > 2 * unsynced)
      this.#acknowledged = this.#acknowledged.filter(({ at }) => simulation.now - at <= unsynced);
    this.#acknowledged.push({ message, at: simulation.now });
    this.deliver();
  }
}

class ServerTable {
  readonly watchers = new Set<Listener>();
  readonly #server: SimulatedServer;
  readonly #lasts: number;
  readonly #values = new Map<string, StoredValue & { readonly at: number }>();
  #revision = 0;

  constructor(server: SimulatedServer, { seconds = Number.POSITIVE_INFINITY }: ValuesOptions) {
    this.#server = server;
    this.#lasts = seconds * 1000;
  }

  get(key: string): StoredValue | undefined {
    const found = this.#values.get(key);
    if (!found || this.#server.simulation.now - found.at <= this.#lasts) return found;
    this.delete(key);
    return undefined;
  }

  put(key: string, bytes: Uint8Array, expected: number | undefined): number | undefined {
    const before = this.get(key);
    if (expected !== undefined && expected !== (before?.revision ?? 0)) return undefined;
    this.#server.store(bytes.length - (before?.bytes.length ?? 0));
    this.#values.set(key, { bytes, revision: ++this.#revision, at: this.#server.simulation.now });
    return this.#revision;
  }

  keys(): readonly string[] {
    return [...this.#values.keys()].filter((key) => this.get(key));
  }

  delete(key: string): void {
    this.#server.store(-(this.#values.get(key)?.bytes.length ?? 0));
    this.#values.delete(key);
  }
}

/** What the server does with a request, and the bytes that its answer has. */
interface Answer<T> {
  readonly value: T;
  readonly bytes?: number;
  /** Bytes that are written before it answers. */
  readonly stored?: number;
}

/** A client's connection. */
export class SimulatedBroker implements Broker {
  readonly name: string;
  readonly address = "simulated";
  readonly maxPayload: number;
  readonly timers: Timers;
  #link: LinkOptions;
  readonly #server: SimulatedServer;
  readonly #simulation: Simulation;
  readonly #up: Channel;
  readonly #down: Channel;
  /** Ends what this client hears. */
  readonly #listening = new Set<() => void>();
  #state: "open" | "closed" | "killed" = "open";
  #cutUntil = 0;
  #connectedAt = 0;
  /** When the newest message of each way arrives: a connection keeps their order. */
  #sent = 0;
  #pushed = 0;

  constructor(server: SimulatedServer, name: string, link: LinkOptions) {
    this.name = name;
    this.#link = link;
    this.maxPayload = server.options.maxPayload;
    this.#server = server;
    this.#simulation = server.simulation;
    this.#up = new Channel(link.speed);
    this.#down = new Channel(link.speed);
    // No two machines have the same time, and some clocks are wrong.
    const { random } = this.#simulation;
    const start = random.between(-1e6, 1e6);
    const pace = random.between(0.99, 1.01);
    this.timers = {
      now: () => start + this.#simulation.now * pace,
      after: (milliseconds, run) =>
        this.#simulation.after(milliseconds / pace, () => {
          if (this.#state !== "killed") run();
        }),
    };
  }

  /** Keeps messages from the server, and from it, for so long. */
  cut(milliseconds: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#simulation.now + milliseconds);
  }

  get link(): LinkOptions {
    return this.#link;
  }

  set link(link: LinkOptions) {
    this.#link = link;
    this.#up.speed = link.speed;
    this.#down.speed = link.speed;
  }

  /** The connection broke, as both ends know, and is there again after so many milliseconds. */
  reconnect(milliseconds: number): void {
    this.cut(milliseconds);
    this.#connectedAt = Math.max(this.#connectedAt, this.#simulation.now + milliseconds);
    const delivers = [...this.#server.queues.values()].filter((queue) => queue.isConsumedBy(this));
    for (const queue of delivers) this.#simulation.at(this.#connectedAt, () => queue.deliver(), false);
  }

  get isConnected(): boolean {
    return this.#simulation.now >= this.#connectedAt;
  }

  /** Ends the process that has this connection. The server notices sooner or later. */
  kill(): void {
    this.#simulation.note(`${this.name} is killed`);
    this.#state = "killed";
    const { random } = this.#simulation;
    this.#simulation.after(random.chance(0.8) ? 20 : 30_000, () => this.#forget());
  }

  #forget(): void {
    this.#server.clients.delete(this);
    for (const queue of this.#server.queues.values()) queue.end(({ client }) => client === this);
    for (const end of this.#listening) end();
  }

  /** Sends bytes to the server. Returns when they arrive; undefined where they are lost. `lost` is called later too. */
  send(
    kind: MessageKind,
    bytes: number,
    arrived: () => void,
    lost: () => void = () => undefined,
  ): number | undefined {
    const { now, random } = this.#simulation;
    const server = this.#server;
    if (this.#state !== "open") return undefined;
    const { life } = server;
    const isCut = now < this.#cutUntil;
    if (isCut && random.chance(0.5)) return undefined;
    const straggles = random.chance(server.faults.stragglers);
    let at = now + this.#up.pass(now, bytes) + server.in.pass(now, bytes) + this.#travel();
    if (isCut) at += this.#cutUntil - now;
    if (straggles) at += server.options.answersWithin * random.between(1, 3);
    else at = this.#sent = Math.max(at, this.#sent);
    const arrive = (): void => {
      // What was written to a connection that has broken since is gone; what waited for one goes by the next.
      if (server.state === "down" || (life !== server.life && !isCut && !straggles)) lost();
      else {
        server.count("in", kind, bytes);
        arrived();
      }
    };
    this.#simulation.at(at, arrive, false);
    return at;
  }

  /** The other way. `delay` is the time that the server needs before. */
  #receive(
    kind: MessageKind,
    bytes: number,
    { delay = 0, overtaken = false }: { readonly delay?: number; readonly overtaken?: boolean },
    arrived: () => void,
  ): number | undefined {
    const { now, random } = this.#simulation;
    const { out, state } = this.#server;
    if (state === "down" || this.#state === "killed") return undefined;
    const isCut = now < this.#cutUntil;
    if (isCut && random.chance(0.5)) return undefined;
    this.#server.count("out", kind, bytes);

    let at = now + delay + out.pass(now, bytes) + this.#down.pass(now, bytes) + this.#travel();
    if (isCut) at += this.#cutUntil - now;
    if (overtaken) at += random.between(0, 500);
    else at = this.#pushed = Math.max(at, this.#pushed);
    this.#simulation.at(at, () => {
      if (this.#state !== "killed") arrived();
    });
    return at;
  }

  /** What the server sends by itself. */
  push(kind: MessageKind, bytes: number, arrived: () => void, overtaken = false): void {
    const received = (): void => {
      if (this.#state === "open") arrived();
    };
    this.#receive(kind, bytes, { overtaken }, received);
  }

  #travel(): number {
    const { latency, jitter } = this.#link;
    return latency - jitter * Math.log(1 - this.#simulation.random.next());
  }

  #request<T>(kind: MessageKind, bytes: number, answer: () => Answer<T>): Promise<T> {
    const simulation = this.#simulation;
    const server = this.#server;
    const until = simulation.now + server.options.answersWithin;
    return new Promise((resolve, reject) => {
      if (this.#state === "closed") return reject(noAnswer("the connection is closed"));
      let isSettled = false;
      const settle = (how: () => void): void => {
        if (isSettled || this.#state === "killed") return;
        isSettled = true;
        how();
      };
      const giveUp = (at: number): void =>
        void simulation.at(at, () =>
          settle(() => {
            server.counts.unanswered++;
            reject(noAnswer("no answer in time"));
          }),
        );
      const inTime = (at: number | undefined): void => {
        if (at === undefined || at > until) giveUp(Math.max(until, simulation.now));
      };
      const arrived = (): void => {
        const { how, size, delay } = this.#executed(answer, resolve, reject);
        inTime(this.#receive(kind, size, { delay }, () => settle(how)));
      };
      // The connection breaks: some notice at once.
      const lost = (): void =>
        giveUp(simulation.random.chance(0.5) ? simulation.now : Math.max(until, simulation.now));
      inTime(this.send(kind, bytes, arrived, lost));
    });
  }

  #executed<T>(answer: () => Answer<T>, resolve: (value: T) => void, reject: (why: unknown) => void) {
    try {
      const { value, bytes: size = 0, stored } = answer();
      const delay = stored === undefined ? 0 : this.#server.disk.pass(this.#simulation.now, stored);
      return { how: () => resolve(value), size, delay };
    } catch (error) {
      return { how: () => reject(error), size: 0, delay: 0 };
    }
  }

  #checkPayload(bytes: Uint8Array): void {
    if (bytes.length > this.maxPayload)
      this.#simulation.fail(
        new Error(`${this.name} sends ${bytes.length} bytes, and a message may have ${this.maxPayload}`),
      );
  }

  #checkDisk(): void {
    if (this.#server.diskFull)
      throw new EspalierError("CLUSTER_SERVER_FULL", "simulated: no space left on device");
  }

  async queue(name: string, options: QueueOptions): Promise<MessageQueue> {
    const server = this.#server;
    const simulation = this.#simulation;
    await this.#request("open", 0, () => {
      const there = server.queues.get(name);
      if (there) there.capacity = options.capacity ?? there.capacity;
      else server.queues.set(name, new ServerQueue(server, options));
      return { value: undefined };
    });
    const queue = (): ServerQueue => {
      const found = server.queues.get(name);
      if (!found) throw noAnswer(`there is no queue ${name}`);
      return found;
    };
    return {
      put: (id, given) => {
        this.#checkPayload(given);
        const bytes = given.slice();
        const put = (): "stored" | "known" | "full" => {
          this.#checkDisk();
          return queue().put(id, bytes);
        };
        const { random } = simulation;
        const isDoubled = random.chance(server.faults.doubled);
        return this.#request("put", bytes.length, () => {
          if (isDoubled)
            simulation.after(random.between(0, server.faults.doubledWithin), () => {
              if (server.state === "up" && !server.diskFull) server.queues.get(name)?.put(id, bytes);
            });
          return { value: put(), stored: bytes.length };
        });
      },
      consume: async (take, { ahead, alone = false }) => {
        const consumer: Consumer = { client: this, take, ahead };
        await this.#request("open", 0, () => {
          queue().consume(consumer, alone);
          return { value: undefined };
        });
        return () =>
          this.#request("open", 0, () => {
            queue().end((one) => one === consumer);
            return { value: undefined };
          });
      },
      length: () => this.#request("open", 0, () => ({ value: queue().length })),
    };
  }

  async values(name: string, options: ValuesOptions = {}): Promise<BrokerValues> {
    const server = this.#server;
    await this.#request("open", 0, () => {
      if (!server.tables.has(name)) server.tables.set(name, new ServerTable(server, options));
      return { value: undefined };
    });
    const table = (): ServerTable => {
      const found = server.tables.get(name);
      if (!found) throw noAnswer(`there are no values ${name}`);
      return found;
    };
    return {
      put: (key, given, { revision } = {}) => {
        this.#checkPayload(given);
        const bytes = given.slice();
        return this.#request("set", bytes.length, () => {
          server.tell(table().watchers, key, bytes, "watch");
          this.#checkDisk();
          return { value: table().put(key, bytes, revision), stored: bytes.length };
        });
      },
      get: (key) =>
        this.#request("get", 0, () => {
          const value = table().get(key);
          return { value, bytes: value?.bytes.length ?? 0 };
        }),
      keys: () =>
        this.#request("open", 0, () => {
          const value = table().keys();
          return { value, bytes: 32 * value.length };
        }),
      delete: (key) =>
        this.#request("open", 0, () => {
          table().delete(key);
          return { value: undefined };
        }),
      watch: (changed) => this.#listen(table().watchers, changed),
    };
  }

  announce(subject: string, bytes: Uint8Array): void {
    const server = this.#server;
    const copy = bytes.slice();
    this.send("announce", copy.length, () =>
      server.tell(server.listeners.get(subject), subject, copy, "announce"),
    );
  }

  listen(subject: string, heard: (bytes: Uint8Array) => void): () => void {
    const { listeners } = this.#server;
    const known = listeners.get(subject) ?? new Set();
    listeners.set(subject, known);
    return this.#listen(known, (_, bytes) => heard(bytes));
  }

  /** Subscribes with the next message to the server; the client does so again after each break. */
  #listen(set: Set<Listener>, heard: Listener["heard"]): () => void {
    let state: "open" | "ended" = "open";
    const listener: Listener = {
      client: this,
      heard: (key, bytes) => {
        if (state === "open") heard(key, bytes);
      },
    };
    const end = (): void => {
      state = "ended";
      set.delete(listener);
      this.#listening.delete(end);
    };
    set.add(listener);
    this.#listening.add(end);
    return end;
  }

  async remove(prefix: string): Promise<void> {
    const { queues, tables } = this.#server;
    await this.#request("open", 0, () => {
      for (const all of [queues, tables])
        for (const name of all.keys()) if (name.startsWith(prefix)) all.delete(name);
      return { value: undefined };
    });
  }

  async close(): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "closed";
    this.#forget();
  }
}

const noAnswer = (why: string): EspalierError =>
  new EspalierError("CLUSTER_NO_ANSWER", `simulated: ${why}`, { fix: "ask again" });
