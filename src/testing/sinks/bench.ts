import { EspalierError } from "../../core/index.ts";
import { Logger, type MetricRecord, type Sink } from "../../metrics/index.ts";
import { expected, type HeldValue, type SinkKeeps, same, sameInOrder } from "./check-sink.ts";
import { completed, runInfo } from "./records.ts";

/** How a sink is read and broken. Parts that are left out are not checked. */
export interface SinkCheck {
  /** Reads what the sink at this place holds, as its users read it; each metric's values in the order it has them. */
  readonly readBack?: (place: string) => readonly HeldValue[] | Promise<readonly HeldValue[]>;
  readonly keeps?: SinkKeeps;
  /** Makes the next call of this kind fail at this place: `write` best after a part of it was done. */
  readonly breakNext?: (place: string, call: "open" | "write") => void;
  /** Written records are there without `close`, as after a crash. Default: true. */
  readonly survivesCrash?: boolean;
}

/** One place for sinks, one process after the other. */
export class Bench {
  readonly #place: string;
  readonly #make: (place: string) => Sink | Promise<Sink>;
  readonly check: SinkCheck;

  constructor(place: string, make: (place: string) => Sink | Promise<Sink>, check: SinkCheck) {
    this.#place = place;
    this.#make = make;
    this.check = check;
  }

  /** A sink for the run of this place, which is new or goes on. */
  async open(resumedAt?: number): Promise<Sink> {
    const sink = await this.#make(this.#place);
    await this.openAgain(sink, resumedAt);
    return sink;
  }

  async openAgain(sink: Sink, resumedAt?: number): Promise<void> {
    await sink.open?.(runInfo(this.#place, resumedAt));
  }

  async unopened(): Promise<Sink> {
    return this.#make(this.#place);
  }

  /** Writes into a sink of this place, as a logger does. */
  async logged(log: (logger: Logger) => void): Promise<void> {
    const logger = new Logger({ sinks: [await this.unopened()] });
    logger.open(runInfo(this.#place));
    log(logger);
    await logger.close();
  }

  async close(sink: Sink): Promise<void> {
    await sink.close?.(completed);
  }

  /** The next call fails. */
  async fails(call: "open" | "write", work: () => void | Promise<void>): Promise<void> {
    this.check.breakNext?.(this.#place, call);
    try {
      await work();
    } catch {
      return;
    }
    throw new EspalierError("CONFORMANCE", `${call} was to fail and did not`);
  }

  /** Checks what is held against the records that were filed. */
  async holds(records: readonly MetricRecord[], what: string, compare = same): Promise<void> {
    const { readBack, keeps = {} } = this.check;
    if (readBack) compare(await readBack(this.#place), expected(records, keeps), what);
  }

  holdsInOrder(records: readonly MetricRecord[], what: string): Promise<void> {
    return this.holds(records, what, sameInOrder);
  }
}
