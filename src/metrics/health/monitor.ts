import { didYouMean, EspalierError, nextTurn } from "../../core/index.ts";
import { read, type Tensor } from "../../engine/index.ts";
import type { Slot } from "../../hooks/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { TrainerContext, TrainerHook } from "../../trainer/index.ts";
import { declareMetric, type MetricDeclaration } from "../metric.ts";

// What the gradient monitor, the loss-spike detector and the rollback hook share: each judges every batch's values, in
// order, without keeping the device waiting.
//
//   onBatchesEnd     have the call's values read when the next call is under way   RowWatch.look
//   they are there   judge(row) for each batch; what it throws fails the run
//   32 batches       log the counts under `health`
//   a checkpoint     wait until all rows are judged, then save the record
//   the run's end    log once more, after everything else

/** Metrics of the monitors under their default names: counts since the run began. Every logger knows them. */
export const healthMetrics: readonly MetricDeclaration[] = [
  "gradients.nan",
  "gradients.infinite",
  "gradients.exploding",
  "gradients.vanishing",
  "lossSpikes.spikes",
  "lossSpikes.notFinite",
].map((name) => declareMetric({ name, category: "health", reduction: "last" }));

/** The metrics of one batch. */
export interface JudgedRow {
  /** Updates attempted up to and with this batch, and batches. */
  readonly update: number;
  readonly batch: number;
  /** Its updates that did not take effect, where the task leaves some out. */
  readonly skipped: number;
  /** False where none of its updates took effect. */
  readonly applied: boolean;
  /** The numbers it reported: one a metric, more where a metric has further axes. */
  readonly numbers: readonly number[];
}

export interface RowWatchOptions {
  /** The metrics it looks at. */
  readonly names: readonly string[];
  /** Sees every row in order. What it throws fails the hook; the rows after it follow should the run go on. */
  readonly judge: (row: JudgedRow) => void;
  /** The error where the task does not report a metric. */
  readonly missing: (name: string, reported: readonly string[]) => Error;
}

/** Rows that came from one call, and how many of them have been judged. */
interface CallRows {
  readonly rows: number;
  readonly rowAt: (row: number) => JudgedRow;
  next: number;
}

/** Batches after which it waits for what is still being read. A call of many batches is more than that at once. */
const stride = 32;

/**
 * Shows a judge every batch's metrics in their order, however batches were cut into calls. Reading a call's metrics
 * begins when the next call is under way, because reading may wait for the device, and they are judged when they are
 * there. They are waited for only now and then, so that the device is never idle; and when the state of the run is
 * taken, and at its end.
 */
export class RowWatch {
  readonly #options: RowWatchOptions;
  readonly #calls: CallRows[] = [];
  #judging: Promise<void> | undefined;
  /** Begins to read what the newest call reported. */
  #readNewest: () => void = () => undefined;
  /** An error of the judge, until the run has gone on or ended. */
  #thrown: { readonly error: unknown } | undefined;

  constructor(options: RowWatchOptions) {
    this.#options = options;
  }

  /**
   * To be called in `onBatchesEnd`. Has `tell` called when all calls before this one have been judged: with `prompt`
   * each time, and otherwise every 32 batches, at places that do not depend on how fast anything was.
   */
  look(context: TrainerContext, tell: () => unknown, prompt = false): unknown {
    this.#thrown = undefined;
    this.#readNewest();
    const before = this.#judging;
    const reading = this.#begin(context);
    if (reading) {
      const judged: Promise<void> = Promise.all([reading, before?.catch(() => undefined)])
        .then(([call]) => this.#judge(call))
        .finally(() => {
          if (this.#judging === judged) this.#judging = undefined;
        });
      this.#judging = judged;
      context.inBackground(judged);
    }
    if (!prompt && !crossed(context)) return undefined;
    // A failure is raised through `inBackground`.
    return before ? before.catch(() => undefined).then(tell) : tell();
  }

  /** Waits until all rows are judged. Rejects where the judge has thrown and the run has not gone on or ended since. */
  async settle(): Promise<void> {
    this.#readNewest();
    await this.#judging;
    if (this.#thrown) throw this.#thrown.error;
  }

  /** To be called in `onTrainingEnd`. */
  end(): void {
    this.#thrown = undefined;
  }

  /** Forgets what has not been judged: another run begins, or a state is set. */
  clear(): void {
    this.#calls.length = 0;
    this.#judging = undefined;
    this.#thrown = undefined;
  }

  #begin({ values, counters, since }: TrainerContext): Promise<CallRows> | undefined {
    const { names, missing } = this.#options;
    // A call of rollouts alone reports other metrics.
    if (!values || counters.batches === since?.batches) return undefined;
    const tensors = names.map((name): Tensor => {
      const tensor = values.tensor(name);
      if (!tensor) throw missing(name, values.names);
      return tensor;
    });
    const [first = ""] = names;
    const { applied } = values;
    // Where no call follows, the event loop has a turn.
    const underWay = new Promise<void>((resolve) => {
      this.#readNewest = resolve;
      nextTurn(resolve);
    });
    return underWay
      .then(() => read(applied ? [...tensors, applied] : tensors))
      .then((arrays) => {
        const before = (row: number): number =>
          row === 0 ? (since?.updates ?? values.at(first, 0).updates - 1) : values.at(first, row - 1).updates;
        const rowAt = (row: number): JudgedRow => {
          const { updates: update, batches: batch } = values.at(first, row);
          const took = applied && Number(arrays.at(-1)?.[row]);
          return {
            update,
            batch,
            skipped: took === undefined ? 0 : update - before(row) - took,
            applied: took !== 0,
            numbers: tensors.flatMap((tensor, i) => rowOf(tensor, arrays[i] as ArrayLike<number>, row)),
          };
        };
        return { rows: values.rows(first), rowAt, next: 0 };
      });
  }

  #judge(call: CallRows): void {
    const calls = this.#calls;
    calls.push(call);
    // What comes after it is for a run that goes on all the same.
    if (this.#thrown) return;
    try {
      for (let first = calls[0]; first; first = calls[0]) {
        while (first.next < first.rows) this.#options.judge(first.rowAt(first.next++));
        calls.shift();
      }
    } catch (error) {
      this.#thrown = { error };
      throw error;
    }
  }
}

function rowOf({ size, shape }: Tensor, array: ArrayLike<number>, row: number): number[] {
  const width = size / Math.max(1, shape[0] ?? 1);
  return Array.from({ length: width }, (_, i) => Number(array[row * width + i]));
}

const crossed = ({ counters, since }: TrainerContext): boolean =>
  Math.floor(counters.batches / stride) > Math.floor((since?.batches ?? counters.batches - 1) / stride);

/** Parts of a {@link monitorHook}. Its record is all that it knows of the rows it has judged: plain data, its state. */
export interface MonitorParts<R extends object> extends Pick<RowWatchOptions, "names" | "missing"> {
  readonly name: string;
  /** The record of a run that has not begun. */
  begin(): R;
  /** Takes a row in. Throws where the run is to be halted. */
  judge(record: R, row: JudgedRow, warn: (text: string) => void): void;
  /** Logs what the record has. The context is that of the hook, also at the end. */
  tell(record: R, context: TrainerContext): unknown;
  /** Has it told of each call, and not every 32 batches. */
  readonly prompt?: boolean;
  /** A slot that `provide` fills: after each call where a hook reads it, and at the end. */
  readonly slot?: Slot;
  provide?(record: R, context: TrainerContext): void;
}

/** A hook that judges every batch by its metrics. */
export function monitorHook<R extends object>(parts: MonitorParts<R>): TrainerHook {
  const { name, names, missing, begin, judge, tell, prompt, slot, provide } = parts;
  const record = begin();
  let warn: (text: string) => void = () => undefined;
  const watch = new RowWatch({ names, missing, judge: (row) => judge(record, row, warn) });
  let context: TrainerContext | undefined;
  const ending: TrainerHook = {
    name: `${name}.end`,
    // Last of all: after a checkpoint of the end is frozen, so that a run that was stopped and goes on has told the
    // same as one that was never stopped.
    priority: Number.NEGATIVE_INFINITY,
    onTrainingEnd: ({ afterEvent }) =>
      afterEvent(() => {
        watch.end();
        if (!context) return undefined;
        provide?.(record, context);
        return tell(record, context);
      }),
  };
  return {
    name,
    ...(slot && { provides: [slot] }),
    state: {
      // Complete up to now: rows still on the device are judged first. Where they show that the run is to halt, there is
      // no state to save: the error comes instead.
      getState: async () => {
        await watch.settle();
        return structuredClone(record) as StateTree;
      },
      setState: (state) => {
        if (!isLike(state, begin()))
          throw new EspalierError("STATE_INVALID", `this is not the state of the monitor "${name}"`, {
            fix: "restore what the same monitor gave",
          });
        watch.clear();
        Object.assign(record, structuredClone(state));
      },
    },
    onRegister: (host) => {
      warn = (text) => host.warn(`${name}: ${text}`);
      context = undefined;
      watch.clear();
      Object.assign(record, begin());
    },
    onBatchesEnd: (given) => {
      context = given;
      const told = watch.look(given, () => tell(record, given), prompt);
      if (!slot || !given.slots.isWanted(slot)) return told;
      // A failure of the judge is raised at the next event, as it is where nothing waits.
      return Promise.all([told, watch.settle().catch(() => undefined)]).then(() => provide?.(record, given));
    },
    children: [ending],
  };
}

/** True where a value has the members of an example, each of the same kind. */
const isLike = (value: StateTree, example: object): boolean =>
  Object.entries(example).every(([name, member]) => kindOf(Object(value)[name]) === kindOf(member));

const kindOf = (value: unknown): string => Object.prototype.toString.call(value);

/** The last of some numbers, with another behind them. */
export const newest = (numbers: Float64Array, next: number, most: number) =>
  Float64Array.of(...numbers, next).slice(-most);

/** The error about a metric that a monitor looks at and the task does not report. */
export const metricMissing = (
  monitor: string,
  fix: string,
): ((name: string, reported: readonly string[]) => EspalierError) => {
  return (name, reported) =>
    new EspalierError(
      "METRIC_MISSING",
      `the ${monitor} looks at "${name}", which the task does not report${didYouMean(name, reported)}; ` +
        `it reports ${reported.join(", ") || "nothing"}`,
      { fix },
    );
};
