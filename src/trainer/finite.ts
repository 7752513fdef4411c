import { EspalierError } from "../core/index.ts";
import type { Tensor } from "../engine/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { TrainingConfig } from "./config.ts";
import type { Values } from "./events.ts";
import type { Progress } from "./progress.ts";
import type { Report } from "./task.ts";

/** A call whose index has not been read yet. */
interface Call {
  /** The index of the first non-finite train repeat up to and with this call, on the device. */
  readonly first: Tensor;
  /** The index of the call's first train repeat. */
  readonly from: number;
  /** Its metrics. */
  readonly values: Values;
}

/**
 * Finds the first update whose loss or parameters were not finite, and acts as `onNonFinite` says.
 *
 * ```
 * each call of the task     its report's index is kept, unread, with the call's metrics
 * a boundary                the newest index is read: where the loop waits for the device, before components are
 *                           handed out, before validation, at the end of the run
 * -1                        all calls up to it are forgotten
 * otherwise                 "stop": the run fails at the counters of that update; "warn": that is said, once
 * ```
 *
 * A hook that undoes such updates asks by `watch` instead: then nothing fails.
 *
 * The index does not depend on how the work was cut, so neither do the error and the counters. What is found while a
 * hook waits for a snapshot would be taken for the hook's failure: it is kept in `failure`, and the loop raises it.
 */
export class FiniteWatch {
  readonly #policy: TrainingConfig["onNonFinite"];
  readonly #warn: (text: string) => void;
  #calls: Call[] = [];
  #failure: { readonly error: EspalierError; readonly counters: Counters } | undefined;
  /** True where there is nothing more to find. */
  #over: boolean;
  /** True where a hook looks after updates that are not finite. */
  #watched = false;

  constructor(policy: TrainingConfig["onNonFinite"], warn: (text: string) => void) {
    this.#policy = policy;
    this.#warn = warn;
    this.#over = policy === "ignore";
  }

  /** Keeps a call's index. A call of rollouts alone changes no parameters. */
  add({ nonFinite }: Report, batches: number, values: Values): void {
    if (nonFinite && batches > 0 && !this.#over) this.#calls.push({ ...nonFinite, values });
  }

  /**
   * Leaves updates that are not finite to a hook. The function that it gets tells the first one since the function was
   * called before.
   */
  watch(): () => Promise<Counters | undefined> {
    this.#watched = true;
    this.#over = false;
    return async () => {
      const calls = this.#calls;
      const index = Number((await this.newest?.item()) ?? -1);
      this.#calls = this.#calls.slice(calls.length);
      const call = calls.find(({ from, values }) => index >= from && index < from + trainRows(values));
      return call?.values.at(lossName(call.values), index - call.from);
    };
  }

  /** The newest index that has not been read. */
  get newest(): Tensor | undefined {
    return this.#calls.at(-1)?.first;
  }

  /** Reads an index, the newest by default. Rejects where the run is to fail. Waits for nothing where all is known. */
  look(first: Tensor | undefined = this.newest): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure.error);
    if (this.#watched) return undefined;
    const at = this.#calls.findIndex((call) => call.first === first);
    return at < 0 ? undefined : this.#read(first as Tensor);
  }

  /** Raises a failure that was found while a hook waited for it. */
  raise(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /**
   * The error that a run fails with, given what was thrown. A non-finite update is the cause of what failed after it, though it
   * may not have been read yet; then the run is set back to it. A hook that judges updates, such as a gradient monitor,
   * speaks first where it failed the run at that update or an earlier one: `settle` waits for those that still judge.
   */
  async cause(thrown: unknown, progress: Progress, settle: () => Promise<void>): Promise<unknown> {
    await this.look()?.catch(() => undefined);
    const failure = this.#failure;
    if (!failure) return thrown;
    const judged = await settle().then(
      () => undefined,
      (error: unknown) => error,
    );
    const earlier = [thrown, judged].find((error) => {
      const judgement = judgementIn(error);
      return judgement && judgement !== failure.error && Number(judgement.update) <= failure.counters.updates;
    });
    if (earlier) return earlier;
    progress.setBack(failure.counters);
    return failure.error;
  }

  async #read(first: Tensor): Promise<void> {
    const index = Number(await first.item());
    this.raise(); // Two may have asked at once.
    const looked = this.#calls.findIndex((call) => call.first === first) + 1;
    const calls = this.#calls.slice(0, looked);
    this.#calls = this.#calls.slice(looked);
    if (index < 0 || this.#over) return;
    const call = calls.find(({ from, values }) => index >= from && index < from + trainRows(values));
    if (!call) return;
    this.#over = true;
    this.#calls = [];
    const counters = call.values.at(lossName(call.values), index - call.from);
    const error = nonFinite(counters, await found(call, index - call.from));
    if (this.#policy === "warn") {
      this.#warn(`${error.message}\n  training goes on (onNonFinite: "warn")`);
      return;
    }
    this.#failure = { error, counters };
    throw error;
  }
}

/** The error about an update that led to this one, or is it. */
function judgementIn(error: unknown): EspalierError | undefined {
  if (error instanceof EspalierError && error.update !== undefined) return error;
  return error instanceof Error && error.cause !== undefined ? judgementIn(error.cause) : undefined;
}

/** A metric of train repeats: its rows are those repeats. */
const lossName = (values: Values): string =>
  values.names.find((name) => values.phase(name) === "train") ?? "";

const trainRows = (values: Values): number => values.rows(lossName(values));

/** The losses of a row that are not finite, those of single terms before their sum. */
async function found({ values }: Call, row: number): Promise<readonly string[]> {
  const arrays = await values.read();
  const bad = values.names.filter(
    (name) =>
      (name === "loss" || name.endsWith(".loss")) &&
      values.phase(name) === "train" &&
      !Number.isFinite(arrays[name]?.[row]),
  );
  const terms = bad.filter((name) => name !== "loss");
  return (terms.length > 0 ? terms : bad).map((name) => `${name} was ${arrays[name]?.[row]}`);
}

function nonFinite({ updates, epoch }: Counters, losses: readonly string[]): EspalierError {
  const what =
    losses.length > 0
      ? `${losses.join(" and ")} in update ${updates}`
      : `parameters were not finite after update ${updates}`;
  return new EspalierError(
    "NON_FINITE",
    `${what} (epoch ${epoch}). Likely causes: a learning rate that is too high or negative, ` +
      "NaN or infinite numbers in inputs, targets or rewards, a logarithm or a division in a loss",
    {
      update: updates,
      fix: 'lower the learning rate, clip gradients (clipByGlobalNorm), leave such updates out (skipNonFinite) and check the data; onNonFinite: "warn" or "ignore" lets the run go on',
    },
  );
}
