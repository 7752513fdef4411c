/**
 * Messages between the ranks of a group, each to its own subject, cut into pieces:
 *
 *     exchange("gradients", (to) => bytes)     every rank gives each other one its bytes, and waits for theirs
 *       each rank    announces the first pieces, and keeps all: others may ask for them
 *                    asks for more as pieces come, so that nobody is sent more than it can take
 *                    asks again where nothing comes: announcements may be lost, and the server restarted
 *
 * All ranks do the same exchanges in the same order. A rank that comes to the next one has had all messages of the one
 * before, so that nobody keeps more than the messages of two.
 */
import { EspalierError } from "../core/index.ts";
import type { Broker } from "./broker.ts";

/** What a rank has from another one. */
export interface Received<N> {
  readonly bytes: Uint8Array;
  /** What goes with them: a value that JSON can hold, the same for all. */
  readonly note: N | undefined;
}

export interface ExchangeOptions {
  readonly broker: Broker;
  /** Of this group alone. Each rank listens to its own below it. */
  readonly subject: string;
  readonly rank: number;
  readonly ranks: number;
  /** Called while an exchange waits, with the ranks it waits for and the seconds so far. A rejection ends the exchange. */
  readonly look: (missing: () => readonly number[], seconds: number, name: string) => Promise<void>;
}

/** The head of a piece. */
interface Head {
  readonly exchange: number;
  readonly from: number;
  readonly name: string;
  readonly piece: number;
  readonly pieces: number;
  /** Where its bytes begin, of how many. */
  readonly at: number;
  readonly bytes: number;
  readonly note?: unknown;
}

/** Asks for pieces of an exchange. */
interface Request {
  readonly exchange: number;
  readonly from: number;
  readonly ask: readonly [first: number, end: number];
}

/** Bytes of a piece, at most, and of its head. */
const pieceBytes = 512 * 1024;
const headBytes = 2048;
/** Pieces that a rank is sent without asking; half as many it asks for at a time. */
const ahead = 8;
/** Milliseconds until a rank asks again, the first time and at most. */
const firstWait = 200;
const longestWait = 2000;

export class RankExchange<N> {
  readonly #options: ExchangeOptions;
  readonly #size: number;
  readonly #stop: () => void;
  /** What this rank sends in this exchange, and sent in the one before. */
  readonly #sent = new Map<
    number,
    { readonly name: string; readonly note: N | undefined; readonly to: readonly Uint8Array[] }
  >();
  /** What has come, by exchange and rank. */
  readonly #come = new Map<number, Map<number, Arriving>>();
  #number = 0;
  #waiting: { readonly arrived: () => void; readonly fail: (error: unknown) => void } | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const { broker, subject, rank } = options;
    this.#size = Math.min(pieceBytes, broker.maxPayload - headBytes);
    this.#stop = broker.listen(`${subject}.${rank}`, (message) => this.#hear(message));
  }

  /** One exchange, under a name that all ranks must use. Resolves with what the others gave this rank, by their numbers. */
  async exchange(
    name: string,
    bytesFor: (to: number) => Uint8Array,
    note?: N,
  ): Promise<readonly (Received<N> | undefined)[]> {
    const number = ++this.#number;
    const { rank, ranks } = this.#options;
    const to = Array.from({ length: ranks }, (_, r) => (r === rank ? nothing : bytesFor(r)));
    this.#sent.delete(number - 2);
    this.#sent.set(number, { name, note, to });
    const others = to.map((_, r) => r).filter((r) => r !== rank);
    for (const other of others) this.#send(number, other, 0, ahead);
    const come = this.#arrivals(number);
    await this.#wait(number, name, others);
    this.#come.delete(number);
    return to.map((_, r) => come.get(r)?.received as Received<N> | undefined);
  }

  close(): void {
    this.#stop();
    this.#sent.clear();
    const fix = "use it only within the function that trainOnRanks calls";
    this.#waiting?.fail(new EspalierError("RANKS_CLOSED", "this group of ranks is over", { fix }));
  }

  #wait(number: number, name: string, others: readonly number[]): Promise<void> {
    const { broker, look } = this.#options;
    const { timers } = broker;
    const began = timers.now();
    const come = this.#arrivals(number);
    const missing = (): readonly number[] => others.filter((other) => !come.get(other)?.received);
    if (missing().length === 0 && !this.#otherName(come, name)) return Promise.resolve();
    return new Promise<void>((resolve, reject) => {
      let cancel: () => void = () => undefined;
      let state: "waiting" | "settled" = "waiting";
      const settle = (end: () => void): void => {
        if (state === "settled") return;
        state = "settled";
        cancel();
        this.#waiting = undefined;
        end();
      };
      const fail = (error: unknown): void => settle(() => reject(error));
      const arrived = (): void => {
        const other = this.#otherName(come, name);
        if (other) fail(other);
        else if (missing().length === 0) settle(resolve);
      };
      const again = (wait: number): void => {
        cancel = timers.after(wait, () => {
          again(Math.min(2 * wait, longestWait));
          for (const other of missing()) this.#askAgain(number, other);
          look(missing, (timers.now() - began) / 1000, name).catch(fail);
        });
      };
      this.#waiting = { arrived, fail };
      again(firstWait);
      arrived();
    });
  }

  /** The error of ranks that are not at the same place of the program. */
  #otherName(come: ReadonlyMap<number, Arriving>, name: string): EspalierError | undefined {
    for (const [from, arriving] of come)
      if (arriving.name !== name)
        return new EspalierError(
          "RANKS_DIVERGED",
          `rank ${this.#options.rank} is at "${name}", and rank ${from} at "${arriving.name}"`,
          {
            fix: "run the same program with the same options on all ranks; what only some do must not wait for others",
          },
        );
    return undefined;
  }

  #arrivals(number: number): Map<number, Arriving> {
    const there = this.#come.get(number) ?? new Map<number, Arriving>();
    this.#come.set(number, there);
    return there;
  }

  #hear(message: Uint8Array): void {
    const length = new DataView(message.buffer, message.byteOffset).getUint16(0, true);
    const head = JSON.parse(new TextDecoder().decode(message.subarray(2, 2 + length))) as Head | Request;
    if ("ask" in head) this.#send(head.exchange, head.from, ...head.ask);
    else this.#take(head, message.subarray(2 + length));
  }

  #take(head: Head, bytes: Uint8Array): void {
    const { exchange: number, from } = head;
    // Of an earlier one it is a repetition.
    if (number < this.#number || (number === this.#number && !this.#waiting)) return;
    const arrivals = this.#arrivals(number);
    const arriving = arrivals.get(from) ?? new Arriving(head);
    arrivals.set(from, arriving);
    arriving.take(head, bytes);
    const more = arriving.more();
    if (more) this.#ask(number, from, more);
    if (number === this.#number) this.#waiting?.arrived();
  }

  #send(number: number, to: number, first: number, end: number): void {
    const sent = this.#sent.get(number);
    const bytes = sent?.to[to];
    if (!sent || !bytes) return;
    const { name, note } = sent;
    const { rank: from } = this.#options;
    const pieces = Math.max(1, Math.ceil(bytes.length / this.#size));
    for (let piece = first; piece < Math.min(end, pieces); piece++) {
      const at = piece * this.#size;
      const head = { exchange: number, from, name, piece, pieces, at, bytes: bytes.length } satisfies Head;
      const part = bytes.subarray(at, at + this.#size);
      this.#announce(to, note === undefined ? head : { ...head, note }, part);
    }
  }

  #askAgain(number: number, from: number): void {
    const arriving = this.#come.get(number)?.get(from);
    if (!arriving) this.#ask(number, from, [0, ahead]);
    else if (arriving.isIdle()) this.#ask(number, from, arriving.firstMissing());
  }

  #ask(exchange: number, to: number, ask: Request["ask"]): void {
    this.#announce(to, { exchange, from: this.#options.rank, ask } satisfies Request, nothing);
  }

  #announce(to: number, head: Head | Request, bytes: Uint8Array): void {
    const { broker, subject } = this.#options;
    const text = new TextEncoder().encode(JSON.stringify(head));
    const message = new Uint8Array(2 + text.length + bytes.length);
    new DataView(message.buffer).setUint16(0, text.length, true);
    message.set(text, 2);
    message.set(bytes, 2 + text.length);
    broker.announce(`${subject}.${to}`, message);
  }
}

const nothing = new Uint8Array(0);

/** A message of another rank, piece by piece. */
class Arriving {
  readonly name: string;
  received: Received<unknown> | undefined;
  readonly #note: unknown;
  readonly #bytes: Uint8Array;
  readonly #has: Uint8Array;
  #missing: number;
  #asked = ahead;
  #idle = false;

  constructor({ name, pieces, bytes, note }: Head) {
    this.name = name;
    this.#note = note;
    this.#bytes = new Uint8Array(bytes);
    this.#has = new Uint8Array(pieces);
    this.#missing = pieces;
  }

  take({ piece, at }: Head, bytes: Uint8Array): void {
    this.#idle = false;
    if (this.#has[piece] !== 0) return;
    this.#has[piece] = 1;
    this.#bytes.set(bytes, at);
    if (--this.#missing === 0) this.received = { bytes: this.#bytes, note: this.#note };
  }

  /** The next pieces to ask for, as half of those that were asked for are here. */
  more(): Request["ask"] | undefined {
    const { length } = this.#has;
    if (this.#asked >= length || length - this.#missing < this.#asked - ahead / 2) return undefined;
    const first = this.#asked;
    this.#asked += ahead / 2;
    return [first, this.#asked];
  }

  /** True where nothing has come since this was asked before. */
  isIdle(): boolean {
    const idle = this.#idle;
    this.#idle = true;
    return idle;
  }

  firstMissing(): Request["ask"] {
    const first = this.#has.indexOf(0);
    return [first, first + ahead / 2];
  }
}
