/** How it stands between a logger and one of its sinks. */
export interface DeliveryState {
  readonly name: string;
  /** Records filed by this process. */
  readonly written: number;
  /** Records in memory that are not filed yet. */
  readonly waiting: number;
  /** Records on disk that are not filed yet. They come next, or in the next process of the run. */
  readonly spilled: number;
  /** Records that will never be filed. */
  readonly lost: number;
  /** Calls that failed. */
  readonly failures: number;
  readonly lastError: string | undefined;
}

/** Synchronous calls that must be slow before it is said. */
const SLOW_CALLS = 3;

const values = (count: number): string => `${count} value${count === 1 ? "" : "s"}`;

/** An error in one line. */
export const causeOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, "; ");

/** Counts what becomes of the records of one sink, and says each kind of trouble once. */
export class DeliveryReport {
  readonly #name: string;
  readonly #warn: (text: string) => void;
  readonly #said = new Set<string>();
  #written = 0;
  #lost = 0;
  #failures = 0;
  #slow = 0;
  #failing = false;
  #lastError: string | undefined;

  constructor(name: string, warn: (text: string) => void) {
    this.#name = name;
    this.#warn = warn;
  }

  written(count: number): void {
    this.#written += count;
  }

  /** `kept` says where what it does not take goes. */
  failed(error: unknown, kept: string): void {
    this.#failures++;
    this.#failing = true;
    this.#lastError = causeOf(error);
    this.#say("failed", `fails: ${this.#lastError}. Training goes on; ${kept}`);
  }

  /** A call did what it should. `waiting` is what else is to be filed. */
  works(waiting: number): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#say(
      "works",
      waiting > 0 ? `works again; what waited comes now: ${values(waiting)}` : "works again",
    );
  }

  lost(count: number, why: string): void {
    this.#lost += count;
    this.#say("lost", `loses values: ${why}`);
  }

  /** What was thought lost was filed after all. */
  found(count: number): void {
    this.#lost -= count;
  }

  refused(error: unknown): void {
    this.#failures++;
    this.#lastError = causeOf(error);
    this.lost(1, `it refuses them: ${this.#lastError}`);
  }

  noSpill(error: unknown): void {
    this.#lastError = causeOf(error);
    this.#say("spill", `has no place on disk for what it may not take: ${this.#lastError}`);
  }

  took(milliseconds: number, limit: number): void {
    if (milliseconds <= limit || ++this.#slow < SLOW_CALLS) return;
    const rounded = Math.round(milliseconds);
    this.#say(
      "slow",
      `holds training up: ${SLOW_CALLS} calls took over ${limit} ms, the last one ${rounded} ms`,
    );
  }

  /** The end. `left` of them are in the file at `path`. */
  closed(left: number, path: string | undefined): void {
    const cause = this.#lastError === undefined ? "" : ` (${this.#lastError})`;
    if (left > 0)
      this.#say(
        "left",
        `has not taken ${values(left)}${cause}: they are in ${path} until the run is resumed`,
      );
    if (this.#lost > 0)
      this.#say("missing", `is missing ${values(this.#lost)} of ${this.#written + this.#lost + left}`);
  }

  state(waiting: number, spilled: number): DeliveryState {
    return {
      name: this.#name,
      written: this.#written,
      waiting,
      spilled,
      lost: this.#lost,
      failures: this.#failures,
      lastError: this.#lastError,
    };
  }

  #say(kind: string, text: string): void {
    if (this.#said.has(kind)) return;
    this.#said.add(kind);
    try {
      this.#warn(`sink "${this.#name}" ${text}`);
    } catch {
      // Whoever listens must not stop what is said to it.
    }
  }
}
