/**
 * Rollouts and weights between a trainer and workers on other machines, over a broker (broker.ts, nats.ts):
 *
 *     trainer                             broker, for run RUN                             worker
 *       publish   pieces, then the head ▶   values RUN=weights: the last of each  ▶ watch   receive    late: get
 *       take    ◀ consume                   queue RUN=rollouts: `capacity`        ◀ put     send
 *                 acknowledge as it is taken   values RUN=pieces: rollouts larger than a message
 *                 room.WORKER             ▶ announced ▶                                     goes on with its rollout
 *                                         ◀ announced ◀ waiting                             found the queue full
 *       close     the run is "ended"      ▶   values espalier-runs                ▶ watch   ends
 *
 * `send` resolves when the broker has stored the rollout: from there on neither the worker's death nor the broker's
 * restart loses it. The trainer acknowledges a rollout as it takes it, and knows the ids of those that it had: one that
 * comes again, because an acknowledgement was lost or a put was repeated, is dropped and counted. Pieces of weights
 * carry the version that they belong to, so that versions never mix.
 */
import {
  EspalierError,
  inTime,
  nameWords,
  type Options,
  option,
  printableText,
  resolveOptions,
  toStandardError,
} from "../core/index.ts";
import {
  capacityOption,
  checkWeights,
  LinkCalls,
  Newest,
  packArrays,
  type Rollout,
  RolloutQueue,
  type Transport,
  transportClosed,
  unpackArrays,
  type Weights,
  type WorkerLink,
} from "../rollout/index.ts";
import {
  type Broker,
  type BrokerValues,
  type Delivery,
  type MessageQueue,
  pause,
  type Timers,
} from "./broker.ts";
import {
  awaitRun,
  checkClusterName,
  decode,
  describeRun,
  encode,
  findRun,
  leaseSeconds,
  type Member,
  Membership,
  partOf,
  watchRun,
} from "./members.ts";
import { type NatsOptions, natsBroker, natsRows } from "./nats.ts";

const optionTable = {
  ...natsRows,
  /** The run's name: workers and evaluators find it by that. One trainer has it at a time. */
  run: option.text({ required: true, doc: "The run's name." }),
  /** Rollouts that wait for the trainer; a worker that sends one more waits itself. Default: 8. */
  capacity: capacityOption,
  /**
   * The file that makes workers, as its path from the project's directory, or the name of a package: `espalier worker`
   * imports it on every machine.
   */
  module: option.text({ doc: "The file or package that makes workers." }),
  /** Its export: a function of a WorkerStart that gives a RolloutWorker. Default: "worker". */
  name: option.text({ default: "worker", doc: "Its export: a function that gives a RolloutWorker." }),
  /** Given to that function: values that JSON can hold. */
  options: option.made<unknown>("values that JSON can hold", () => true, {
    doc: "Given to that function.",
  }),
};

/** Options of {@link natsTransport}. */
export interface NatsTransportOptions extends Options<typeof optionTable> {}

/**
 * Connects a trainer with workers on other machines by a NATS server: `espalier worker --run NAME` starts one, anywhere.
 * It connects with the first weights. Workers come and go as they like; the run goes on when the server was away.
 *
 * @example
 * ```ts
 * const transport = natsTransport({ servers: "nats://trainer:4222", run: "maze", module: "./worker.ts" });
 * const task = policyTask({ env: "Maze-v1", transport });
 * await new Trainer({ task, config: { epochs: 100 } }).train();
 * await task.close();
 * ```
 */
export function natsTransport(options: NatsTransportOptions): Transport {
  const { run, capacity, module, name, ...rest } = resolveOptions("natsTransport", options, optionTable);
  checkClusterName("run", run);
  return new ClusterTransport({
    run,
    capacity,
    warn: options.warn ?? toStandardError,
    connect: () => natsBroker(connectionOf(options)),
    description: { ...(module !== undefined && { module, name }), options: rest.options },
  });
}

/** The options of a connection among others. */
export function connectionOf(options: NatsOptions): NatsOptions {
  const own = Object.entries(options).filter(([name, value]) => name in natsRows && value !== undefined);
  return Object.fromEntries(own);
}

/** What a trainer's end is made from. */
export interface ClusterTransportSettings {
  readonly run: string;
  readonly capacity: number;
  readonly connect: () => Promise<Broker>;
  readonly warn: (text: string) => void;
  readonly description?: { readonly module?: string; readonly name?: string; readonly options?: unknown };
  /** Tells versions of weights apart from those of an earlier trainer of the run. Default: a random number. */
  readonly session?: number;
}

/** Milliseconds for which the trainer may keep a rollout without a word before the broker delivers it again. */
const acknowledgeWithin = 30_000;
/** Seconds for which pieces of a large rollout are kept for the trainer. */
const piecesSeconds = 3600;
/** Bytes of a piece of weights. Somewhat below a power of two, to which NATS's client would round a message up. */
const pieceBytes = 480 * 1024;
/** Milliseconds for which a place is kept for a worker that was told of it. */
const grantLasts = 5000;
/** Milliseconds after which a trainer without workers says so. */
const patience = 10_000;
/** Milliseconds after which a transport that nobody uses, and nobody closed, says that it keeps the program alive. */
const forgottenAfter = 180_000;

/** The trainer's end once it is connected. */
interface Opened {
  readonly broker: Broker;
  readonly weights: BrokerValues;
  readonly pieces: BrokerValues;
  readonly member: Membership;
  readonly ends: readonly (() => unknown)[];
}

/** The trainer's end of a transport over a broker. */
export class ClusterTransport implements Transport {
  readonly #settings: ClusterTransportSettings;
  readonly #queue: RolloutQueue;
  readonly #session: number;
  /** Rollouts in the queue that are to be acknowledged, by id. */
  readonly #deliveries = new Map<string, { delivery: Delivery; pieces: readonly string[] }>();
  /** Workers that wait for room, in their order, and those that were told of some and have not used it, with the time. */
  readonly #waiting = new Set<string>();
  readonly #granted = new Map<string, number>();
  /** Workers, and when they were heard of last. */
  readonly #workers = new Map<string, number>();
  #accepting: Promise<void> = Promise.resolve();
  /** Ends that of the broker; and how many it has delivered. */
  #consumer: () => Promise<void> = async () => undefined;
  #delivered = 0;
  #state: "idle" | "open" | "lost" | "closed" = "idle";
  #opening: Promise<Opened> | undefined;
  #closing: Promise<void> | undefined;
  #timers: Timers | undefined;
  #forgotten: () => void = () => undefined;
  /** Revisions of the pieces and the head of weights. */
  readonly #revisions = new Map<string, number>();
  #version = 0;
  #weightId = 0;

  constructor(settings: ClusterTransportSettings) {
    this.#settings = settings;
    this.#session = settings.session ?? Math.floor(Math.random() * 2 ** 32);
    // All that the broker holds may be here, and some that it was told again.
    this.#queue = new RolloutQueue(settings.capacity * 2);
  }

  get stats(): Transport["stats"] {
    return { ...this.#queue.counts, workers: this.#countWorkers(), replaced: 0 };
  }

  #countWorkers(): number {
    const now = this.#timers?.now() ?? 0;
    for (const [name, heard] of this.#workers)
      if (this.#state === "closed" || now - heard > leaseSeconds * 1000) this.#workers.delete(name);
    return this.#workers.size;
  }

  /** True where rollouts are no longer for this trainer. */
  get #isOver(): boolean {
    return this.#state === "closed" || this.#state === "lost";
  }

  /** Connects, once. A failure is that of the call that needed it; the next call tries again. */
  async #open(): Promise<Opened> {
    if (this.#state === "closed") throw transportClosed();
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Opened> {
    const { run, capacity, connect, description } = this.#settings;
    const broker = await connect();
    this.#timers = broker.timers;
    try {
      const member = await this.#takeRun(broker);
      const members = await broker.values(partOf(run, "members"), { seconds: leaseSeconds });
      const weights = await broker.values(partOf(run, "weights"));
      const pieces = await broker.values(partOf(run, "pieces"), { seconds: piecesSeconds });
      const rollouts = await broker.queue(partOf(run, "rollouts"), { capacity, acknowledgeWithin });
      await describeRun(broker, { run, state: "running", ...description });
      const ends = [
        members.watch((key) => {
          const [kind, name = ""] = key.split(".");
          if (kind === "worker") this.#workers.set(name, broker.timers.now());
        }),
        broker.listen(`${run}.left`, (name) => this.#workers.delete(String(decode(name)))),
        broker.listen(`${run}.waiting`, (name) => {
          this.#waiting.add(String(decode(name)));
          this.#makeRoom(broker);
        }),
        () => this.#consumer(),
      ];
      const accept = (delivery: Delivery): void => this.#accept(delivery, pieces);
      const consume = async (): Promise<void> => {
        this.#consumer = await rollouts.consume(accept, { ahead: capacity, alone: true });
      };
      await consume();
      if (this.#state === "idle") this.#state = "open";
      this.#keepDelivered(broker, rollouts, consume);
      return { broker, weights, pieces, member, ends };
    } catch (error) {
      await broker.close();
      throw error;
    }
  }

  /** Becomes the run's trainer. One that was killed has the run until its lease ends. */
  async #takeRun(broker: Broker): Promise<Membership> {
    const { run, capacity, warn } = this.#settings;
    const doing = () => {
      const { queued, taken } = this.#queue.counts;
      return { doing: "training", numbers: { weightId: this.#weightId, queued, capacity, taken } };
    };
    const until = broker.timers.now() + (leaseSeconds + 3) * 1000;
    for (let said = false; ; ) {
      try {
        return await Membership.join(broker, run, { kind: "trainer", name: "trainer" }, doing, (other) => {
          if (this.#state === "open") this.#state = "lost";
          this.#queue.fail(runTaken(run, other));
        });
      } catch (error) {
        if (codeOf(error) !== "CLUSTER_NAME_TAKEN" || broker.timers.now() > until) throw error;
        if (!said) warn(`run "${run}" has a trainer; waiting for its lease to end, if it was killed`);
        said = true;
        await pause(broker.timers, 500);
      }
    }
  }

  /** A rollout comes, and joins the queue if it was never here. One after the other: they keep their order. */
  #accept(delivery: Delivery, pieces: BrokerValues): void {
    this.#delivered++;
    this.#accepting = this.#accepting.then(() => this.#acceptNext(delivery, pieces));
  }

  async #acceptNext(delivery: Delivery, pieces: BrokerValues): Promise<void> {
    const { id } = delivery;
    if (this.#isOver) return;
    if (this.#queue.knows(id)) {
      await this.#queue.put({ id } as Rollout); // Counted, no more.
      const waiting = this.#deliveries.get(id);
      if (waiting) waiting.delivery = delivery;
      else delivery.acknowledge(); // It was taken, and its acknowledgement was lost.
      return;
    }
    try {
      const { rollout, from, keys } = await readRollout(delivery.bytes, pieces);
      this.#granted.delete(from);
      this.#deliveries.set(id, { delivery, pieces: keys });
      await this.#queue.put(rollout);
    } catch (error) {
      this.#deliveries.delete(id);
      if (codeOf(error) === "CLUSTER_NO_ANSWER" || this.#isOver) return delivery.release();
      // Nobody can use it, and it must not come again and again.
      if (this.#state === "open")
        this.#settings.warn(printableText(`a rollout is dropped: ${String(error)}`));
      delivery.acknowledge();
    }
  }

  /**
   * Tells the broker that rollouts in the queue are not forgotten, until this is closed. Where some are there and none
   * come, a late request of an earlier trainer has ended the consumer: there has to be another.
   */
  #keepDelivered(broker: Broker, rollouts: MessageQueue, consume: () => Promise<void>): void {
    const delivered = this.#delivered;
    broker.timers.after(acknowledgeWithin / 3, async () => {
      if (this.#isOver) return;
      for (const { delivery } of this.#deliveries.values()) delivery.extend();
      if (
        this.#deliveries.size === 0 &&
        delivered === this.#delivered &&
        (await rollouts.length().catch(() => 0)) > 0
      ) {
        await this.#consumer();
        if (!this.#isOver) await consume().catch(() => undefined); // Tried again.
      }
      this.#keepDelivered(broker, rollouts, consume);
    });
  }

  /** Tells the first in line, and those after them, as long as there is room. */
  #makeRoom(broker: Broker): void {
    const now = broker.timers.now();
    for (const [name, at] of this.#granted) if (now - at > grantLasts) this.#granted.delete(name);
    const { run, capacity } = this.#settings;
    for (const name of this.#waiting) {
      const free = capacity - this.#queue.counts.queued - this.#granted.size;
      if (free <= 0) return;
      this.#waiting.delete(name);
      this.#granted.set(name, now);
      broker.announce(`${run}.room.${name}`, encode(free > capacity / 2 ? "plenty" : "one"));
    }
  }

  async publish(weights: Weights): Promise<void> {
    checkWeights(weights);
    const message = packArrays({ id: weights.id }, weights.arrays);
    const { broker, member, weights: values } = await this.#open();
    const version = { session: this.#session, number: ++this.#version };
    this.#weightId = weights.id;
    const pieces = cut(message, Math.min(pieceBytes, broker.maxPayload), version);
    const head = { ...version, id: weights.id, pieces: pieces.length } satisfies WeightsHead;
    const put = (key: string, bytes: Uint8Array): Promise<void> =>
      this.#until(broker, "weights", () => this.#putNext(values, key, bytes, member));
    // The head goes right behind them: who reads it before all are stored finds others, and looks again.
    const stored = pieces.map((piece, i) => put(`piece.${i}`, piece));
    await Promise.all([...stored, put("head", encode(head))]);
  }

  /**
   * Puts a value over the one that is known: an earlier put that was given up and arrives late is refused then, and so
   * is a trainer that another has replaced.
   */
  async #putNext(values: BrokerValues, key: string, bytes: Uint8Array, member: Membership): Promise<void> {
    for (;;) {
      const revision = await values.put(key, bytes, { revision: this.#revisions.get(key) ?? 0 });
      this.#revisions.set(key, revision ?? (await values.get(key))?.revision ?? 0);
      if (revision !== undefined) return;
      if (!(await member.renew())) this.#queue.checkOpen();
    }
  }

  /** Repeats what the broker did not answer, until it does or this is closed. */
  async #until(broker: Broker, what: string, work: () => Promise<void>): Promise<void> {
    for (let tries = 0; ; tries++) {
      this.#queue.checkOpen();
      try {
        return await work();
      } catch (error) {
        if (tries === 0) this.#settings.warn(printableText(`${what}: ${String(error)}`));
        await pause(broker.timers, backOff(tries, this.#version));
      }
    }
  }

  async take(options: { readonly signal?: AbortSignal } = {}): Promise<Rollout | undefined> {
    if (this.#state === "closed" || options.signal?.aborted) return undefined;
    const { broker, pieces } = await this.#open();
    this.#forgotten();
    const silence = this.#sayThatNobodyWorks(broker.timers);
    const staysAlive = setInterval(() => undefined, 2 ** 30);
    let rollout: Rollout | undefined;
    try {
      rollout = await this.#queue.take(options);
    } finally {
      clearInterval(staysAlive);
      silence();
    }
    const taken = rollout && this.#deliveries.get(rollout.id);
    if (rollout && taken) {
      this.#deliveries.delete(rollout.id);
      taken.delivery.acknowledge();
      for (const key of taken.pieces) pieces.delete(key).catch(() => undefined); // They expire by themselves.
    }
    this.#makeRoom(broker);
    this.#sayThatItIsOpen(broker.timers);
    return rollout;
  }

  /** A program that has trained does not end while its transport is open. */
  #sayThatItIsOpen(timers: Timers): void {
    const { run, warn } = this.#settings;
    this.#forgotten();
    this.#forgotten = timers.after(forgottenAfter, () =>
      warn(`run "${run}" has taken no rollout for minutes; if it is over, close its task or transport`),
    );
  }

  #sayThatNobodyWorks(timers: Timers): () => void {
    const { run, warn } = this.#settings;
    return timers.after(patience, () => {
      if (this.#countWorkers() === 0)
        warn(`run "${run}" waits for rollouts, and has no workers: espalier worker --run ${run}`);
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const opening = this.#opening;
    this.#state = "closed";
    this.#forgotten();
    this.#queue.close();
    const opened = await opening?.catch(() => undefined);
    if (!opened) return;
    const { run, description } = this.#settings;
    const { broker, member, ends } = opened;
    // The run of a trainer that another has replaced is that one's.
    const isOwn = await member.renew().catch(() => true);
    if (isOwn)
      await describeRun(broker, { run, state: "ended", ...description }).catch((error: unknown) =>
        this.#settings.warn(printableText(`run "${run}" is not marked as ended: ${String(error)}`)),
      );
    for (const end of ends) await end();
    // What is left is of no use to anybody.
    if (isOwn)
      for (const part of ["rollouts", "pieces", "weights"])
        await broker.remove(partOf(run, part)).catch(() => undefined);
    await member.leave();
    await broker.close();
  }
}

const runTaken = (run: string, { host, pid }: Member): EspalierError =>
  new EspalierError(
    "CLUSTER_RUN_TAKEN",
    `run "${run}" has another trainer now: process ${pid} on ${host} took it while this one did not reach the server`,
    { fix: "end one of them; training goes on from the last checkpoint" },
  );

/** What a worker's end is made from. */
export interface ClusterLinkSettings {
  readonly run: string;
  /** Unique among all workers of the run that ever were: ids of rollouts begin with it. */
  readonly name: string;
  readonly connect: () => Promise<Broker>;
  readonly warn: (text: string) => void;
  /** Seconds to wait for the run to be there. Default: 60. */
  readonly patience?: number;
}

const linkTable = {
  ...natsRows,
  run: option.text({ required: true, doc: "The run's name." }),
  name: option.text({ required: true, doc: "Unique among all workers of the run that ever were." }),
};

/** A worker's end of a transport over NATS. */
export interface NatsLinkOptions extends Options<typeof linkTable> {}

/**
 * A worker's end of {@link natsTransport}, for a program that makes workers by itself; `espalier worker` does it for
 * most. It connects with its first call.
 *
 * @example
 * ```ts
 * const link = natsLink({ servers: "nats://trainer:4222", run: "maze", name: `lab-3-${process.pid}` });
 * await new RolloutWorker({ name: "lab-3", generator, link }).run();
 * ```
 */
export function natsLink(options: NatsLinkOptions): WorkerLink {
  const { run, name } = resolveOptions("natsLink", options, linkTable);
  return new ClusterLink({
    run,
    name,
    warn: options.warn ?? toStandardError,
    connect: () => natsBroker(connectionOf(options)),
    ...(options.patience !== undefined && { patience: options.patience }),
  });
}

/** A worker's end once it is connected. */
interface OpenedLink {
  readonly broker: Broker;
  readonly weights: BrokerValues;
  readonly pieces: BrokerValues;
  readonly rollouts: MessageQueue;
  readonly member: Membership;
  readonly ends: readonly (() => unknown)[];
}

/** A worker's end of a transport over a broker. */
export class ClusterLink implements WorkerLink {
  readonly #settings: ClusterLinkSettings;
  readonly #calls = new LinkCalls();
  readonly #newest = new Newest<Weights>();
  /** One rollout is sent at a time, in the order of the calls. */
  #sending: Promise<unknown> = Promise.resolve();
  /** Called where the trainer says that there is room. */
  #room: (() => void) | undefined;
  /** The queue was full, and the trainer has not said since that there is plenty of room: it is asked before sending. */
  #crowded = false;
  /** Of the times that it waits: a thousand workers do not all come back at once. */
  readonly #salt: number;
  #incoming: Incoming | undefined;
  #state: "open" | "ended" = "open";
  #opening: Promise<OpenedLink> | undefined;
  #opened: OpenedLink | undefined;
  #received = 0;
  #sent = 0;
  #weightId = -1;
  #announcedId = -1;
  /** When the head was looked at last. */
  #looked = Number.NEGATIVE_INFINITY;

  constructor(settings: ClusterLinkSettings) {
    checkClusterName("run", settings.run);
    checkClusterName("worker", settings.name);
    this.#settings = settings;
    this.#salt = nameWords(settings.name)[0] % 1000;
  }

  /** Rollouts that were sent, the id of its weights, and how many updates they are behind. */
  get numbers(): Readonly<Record<"rollouts" | "weightId" | "staleness", number>> {
    const staleness = Math.max(0, this.#announcedId - this.#weightId);
    return { rollouts: this.#sent, weightId: this.#weightId, staleness };
  }

  #open(): Promise<OpenedLink> {
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<OpenedLink> {
    const { run, name, connect, patience, warn } = this.#settings;
    const broker = await connect();
    try {
      const description = await awaitRun(broker, run, { seconds: patience ?? 60, warn });
      const weights = await broker.values(partOf(run, "weights"));
      const ends = [
        weights.watch((key, bytes) => this.#heard(key, bytes)),
        broker.listen(`${run}.room.${name}`, (bytes) => {
          this.#crowded = decode(bytes) !== "plenty"; // Then it need not ask again.
          this.#room?.();
        }),
        await watchRun(broker, run, ({ state }) => state === "ended" && this.#end()),
      ];
      const pieces = await broker.values(partOf(run, "pieces"), { seconds: piecesSeconds });
      const rollouts = await broker.queue(partOf(run, "rollouts"), { acknowledgeWithin });
      const member = await Membership.join(broker, run, { kind: "worker", name }, () => ({
        doing: this.#weightId < 0 ? "waits for weights" : "rolls out",
        numbers: this.numbers,
      }));
      if (description.state === "ended") this.#end();
      this.#opened = { broker, weights, pieces, rollouts, member, ends };
      return this.#opened;
    } catch (error) {
      await broker.close();
      throw error;
    }
  }

  /** The run has ended: what is under way ends too. */
  #end(): void {
    this.#state = "ended";
    this.#newest.close();
    this.#calls.close();
  }

  receive(
    options: { readonly wait?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<Weights | undefined> {
    const { wait = false } = options;
    return this.#calls.during(options.signal, async (signal) => {
      if (signal.aborted) return undefined;
      const opened = await inTime(this.#open(), undefined, signal).catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
      if (!opened) return undefined;
      await this.#look(opened, signal);
      // What the watch has lost is found by looking again.
      let again = opened.broker.timers.after(lookAgain, () => look());
      const look = (): void => {
        void this.#look(opened, signal).catch(() => undefined);
        again = opened.broker.timers.after(lookAgain, look);
      };
      try {
        const found = await this.#newest.after(this.#received, { wait, signal });
        if (!found) return undefined;
        this.#received = found.version;
        this.#weightId = found.value.id;
        return found.value;
      } finally {
        again();
      }
    });
  }

  /** Reads the newest weights from the broker, where they are others and were not heard of. */
  async #look({ broker, weights }: OpenedLink, signal: AbortSignal): Promise<void> {
    const { timers } = broker;
    if (timers.now() - this.#looked < lookAgain) return;
    this.#looked = timers.now();
    let incoming: Incoming | undefined;
    for (let tries = 0; tries < 20 && !signal.aborted && this.#state === "open"; tries++) {
      try {
        const found = await weights.get("head");
        if (!found) return;
        const head = decode(found.bytes) as WeightsHead;
        if (this.#incoming?.isOf(head)) this.#incoming.head = head;
        if (this.#incoming?.isWhole(head)) return this.#take(this.#incoming);
        // Those that were read before stay: a slow link does not begin again.
        const read: Incoming = incoming?.isOf(head) ? incoming : new Incoming(head);
        incoming = read;
        const add = async (i: number): Promise<boolean> => {
          const piece = await weights.get(`piece.${i}`);
          return piece !== undefined && read.add(piece.bytes);
        };
        for (let next = read.missing(readAtOnce); next.length > 0; ) {
          const added = await Promise.all(next.map(add));
          next = added.includes(false) ? [] : read.missing(readAtOnce);
        }
        if (read.isWhole(head)) return this.#take(read);
      } catch (error) {
        if (this.#newest.current === undefined && tries > 5) throw error;
      }
      // Newer ones are being written, or the broker is away.
      await pause(timers, backOff(tries, this.#salt));
    }
  }

  /** A piece or the head of weights comes by the watch. */
  #heard(key: string, bytes: Uint8Array): void {
    if (key !== "head") {
      const version = versionOf(bytes);
      if (!this.#incoming?.isOf(version)) this.#incoming = new Incoming(version);
      this.#incoming.add(bytes);
      return;
    }
    const head = decode(bytes) as WeightsHead;
    this.#announcedId = head.id;
    if (this.#incoming?.isOf(head)) this.#incoming.head = head;
    if (this.#incoming?.isWhole(head)) this.#take(this.#incoming);
    else if (this.#opened) {
      this.#looked = Number.NEGATIVE_INFINITY; // Some were lost.
      void this.#look(this.#opened, neverAborted).catch(() => undefined);
    }
  }

  #take(incoming: Incoming): void {
    this.#incoming = incoming;
    if (incoming.taken) return;
    const { header, arrays } = unpackArrays(incoming.message());
    this.#announcedId = (header as { readonly id: number }).id;
    this.#newest.set({ id: this.#announcedId, arrays });
  }

  send(rollout: Rollout, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.#calls.during(signal, (signal) => {
      const sent = this.#sending.then(() => this.#send(rollout, signal));
      this.#sending = sent.catch(() => undefined);
      return inTime(sent, undefined, signal);
    });
  }

  async #send(rollout: Rollout, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const opened = await this.#open();
    const { broker, rollouts } = opened;
    const { warn, run, name } = this.#settings;
    const { arrays, ...header } = rollout;
    const message = packArrays({ rollout: header, from: name } satisfies RolloutHeader, arrays);
    let whole: Uint8Array | undefined;
    for (let tries = 0, full = 0; !signal.aborted; ) {
      try {
        // A full queue would take the bytes for nothing.
        if (this.#crowded) await this.#askForRoom(broker, signal);
        whole ??= await this.#inOneMessage(rollout.id, message, opened, signal);
        const answer = await rollouts.put(rollout.id, whole);
        if (answer !== "full") {
          this.#sent++;
          return;
        }
        tries = 0;
        // The place that was announced is free once the broker has heard of it, too.
        if (this.#crowded) await pause(broker.timers, Math.min(5 * ++full, 500), signal);
        this.#crowded = true;
      } catch (error) {
        if (signal.aborted) break;
        if (tries++ === 0) warn(printableText(`rollout ${rollout.id} waits: ${String(error)}`));
        await pause(broker.timers, backOff(tries, this.#salt), signal);
        if ((await findRun(broker, run).catch(() => undefined))?.state === "ended") this.#end();
      }
    }
    signal.throwIfAborted();
  }

  /** Waits in line until the trainer says that there is room. A trainer that is away is not waited for. */
  async #askForRoom(broker: Broker, signal: AbortSignal): Promise<void> {
    const { run, name } = this.#settings;
    const told = new AbortController();
    const tell = (): void => told.abort();
    this.#room = tell;
    signal.addEventListener("abort", tell, { once: true });
    broker.announce(`${run}.waiting`, encode(name));
    await pause(broker.timers, 2000 + backOff(3, this.#salt), told.signal);
    signal.removeEventListener("abort", tell);
    this.#room = undefined;
  }

  /** The rollout as one message: a large one lies in pieces beside the queue, and the message says where. */
  async #inOneMessage(
    id: string,
    message: Uint8Array,
    { broker, pieces }: OpenedLink,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const room = broker.maxPayload;
    if (message.length <= room) return message;
    const count = Math.ceil(message.length / room);
    const key = id.replace(/[^\w-]/g, "_");
    const keys = Array.from({ length: count }, (_, i) => `${key}.${i}`);
    for (const [i, piece] of keys.entries()) {
      signal.throwIfAborted();
      await pieces.put(piece, message.subarray(i * room, (i + 1) * room));
    }
    return packArrays({ pieces: keys, bytes: message.length } satisfies InPieces, {});
  }

  async close(): Promise<void> {
    this.#end();
    const opened = await this.#opening?.catch(() => undefined);
    if (!opened) return;
    const { broker, member, ends } = opened;
    for (const end of ends) end();
    broker.announce(`${this.#settings.run}.left`, encode(this.#settings.name));
    await member.leave();
    await broker.close();
  }
}

const neverAborted = new AbortController().signal;

const codeOf = (error: unknown): string | undefined =>
  error instanceof EspalierError ? error.code : undefined;

/** Milliseconds between two looks at the broker for weights that were not heard of. */
const lookAgain = 3000;
/** Pieces that are asked for at once: all would not come in time over a slow link. */
const readAtOnce = 4;

/** The header of a rollout's message. */
interface RolloutHeader {
  readonly rollout: Omit<Rollout, "arrays">;
  /** The link that sent it. */
  readonly from: string;
}

/** The header of a message that stands for a rollout in pieces. */
interface InPieces {
  readonly pieces: readonly string[];
  readonly bytes: number;
}

/** The rollout of a message, put together where it came in pieces. */
async function readRollout(
  message: Uint8Array,
  values: BrokerValues,
): Promise<{ readonly rollout: Rollout; readonly from: string; readonly keys: readonly string[] }> {
  // A copy: messages lie in memory that others share, which a rollout that waits would keep.
  const { header, arrays } = unpackArrays(new Uint8Array(message));
  if ("rollout" in (header as RolloutHeader | InPieces)) {
    const { rollout, from } = header as RolloutHeader;
    return { rollout: { ...rollout, arrays }, from, keys: [] };
  }
  const { pieces: keys, bytes } = header as InPieces;
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of await Promise.all(keys.map((key) => values.get(key)))) {
    if (!piece) throw new Error(`a piece of it is gone after ${at} of ${bytes} bytes`);
    whole.set(piece.bytes, at);
    at += piece.bytes.length;
  }
  if (at !== bytes) throw new Error(`it has ${at} of ${bytes} bytes`);
  return { ...(await readRollout(whole, values)), keys };
}

/** One publication of weights: by which trainer's process, and the how-manieth of it. */
interface Version {
  readonly session: number;
  readonly number: number;
}

/** The end of a publication: all its pieces are there. */
interface WeightsHead extends Version {
  readonly id: number;
  readonly pieces: number;
}

/** Bytes before those of a piece: session, number, index, position of its bytes in the message, bytes of the message. */
const pieceHeader = 20;

function cut(message: Uint8Array, most: number, { session, number }: Version): Uint8Array[] {
  const room = most - pieceHeader;
  return Array.from({ length: Math.ceil(message.length / room) }, (_, i) => {
    const part = message.subarray(i * room, (i + 1) * room);
    const piece = new Uint8Array(pieceHeader + part.length);
    const view = new DataView(piece.buffer);
    [session, number, i, i * room, message.length].forEach((value, at) => {
      view.setUint32(4 * at, value, true);
    });
    piece.set(part, pieceHeader);
    return piece;
  });
}

function versionOf(piece: Uint8Array): Version {
  const view = new DataView(piece.buffer, piece.byteOffset, pieceHeader);
  return { session: view.getUint32(0, true), number: view.getUint32(4, true) };
}

/** One version of weights, as its pieces come. */
class Incoming {
  readonly #version: Version;
  readonly #here = new Set<number>();
  #message: Uint8Array | undefined;
  head: WeightsHead | undefined;
  taken = false;

  constructor(version: Version | WeightsHead) {
    this.#version = version;
    if ("pieces" in version) this.head = version;
  }

  isOf({ session, number }: Version): boolean {
    return session === this.#version.session && number === this.#version.number;
  }

  /** True where all pieces of the head's weights are here. */
  isWhole(head: WeightsHead): boolean {
    return this.isOf(head) && this.#here.size === head.pieces;
  }

  /** Takes a piece. False where it is of another version. Copied at once: what the client holds is freed. */
  add(piece: Uint8Array): boolean {
    if (!this.isOf(versionOf(piece))) return false;
    const view = new DataView(piece.buffer, piece.byteOffset, pieceHeader);
    const index = view.getUint32(8, true);
    if (this.#here.has(index)) return true;
    this.#message ??= new Uint8Array(view.getUint32(16, true));
    this.#message.set(piece.subarray(pieceHeader), view.getUint32(12, true));
    this.#here.add(index);
    return true;
  }

  /** Some of the pieces that are not here. */
  missing(most: number): readonly number[] {
    const all = Array.from({ length: this.head?.pieces ?? 0 }, (_, i) => i);
    return all.filter((i) => !this.#here.has(i)).slice(0, most);
  }

  /** All bytes, once: who takes them has them alone. */
  message(): Uint8Array {
    const message = this.#message ?? new Uint8Array();
    this.taken = true;
    this.#message = undefined;
    return message;
  }
}

/** Milliseconds before a try is repeated: up to five seconds, and not the same for everybody. */
function backOff(tries: number, salt: number): number {
  const most = Math.min(100 * 2 ** tries, 5000);
  return most * (0.75 + 0.25 * Math.abs(Math.sin(salt + 7 * tries)));
}
