import { read, type Tensor } from "../../engine/index.ts";
import type { TrainerContext } from "../../trainer/index.ts";

/** What one batch reported, and which it was. */
export interface Row {
  /** Updates attempted up to and with this batch, and batches. */
  readonly update: number;
  readonly batch: number;
  /** Its updates that did not take effect, where the task leaves some out. */
  readonly skipped: number;
  /** The numbers it reported: one a value, more where a value has further axes. */
  readonly numbers: readonly number[];
}

export interface RowWatchOptions {
  /** The values it looks at. */
  readonly names: readonly string[];
  /** Is shown every row in its order. What it throws fails the hook; the rows after it are shown should the run go on. */
  readonly judge: (row: Row) => void;
  /** The error where the task does not report a value. */
  readonly missing: (name: string, reported: readonly string[]) => Error;
}

/** Rows that came from one call, and how many of them have been judged. */
interface Stretch {
  readonly rows: number;
  readonly rowAt: (row: number) => Row;
  next: number;
}

/** Batches after which it waits for what is still being read. A call of many batches is more than that at once. */
const stride = 32;

/**
 * Shows a judge every batch's values in their order, however batches were cut into calls. Reading a call's values
 * begins at once, and they are judged when they are there. Nobody waits for them but now and then, while the next call
 * is under way, so that the device is never idle for it; and when the state of the run is taken, and at its end.
 */
export class RowWatch {
  readonly #options: RowWatchOptions;
  readonly #stretches: Stretch[] = [];
  #judging: Promise<void> | undefined;
  /** What the judge threw, until the run has gone on or ended. */
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
    const before = this.#judging;
    const reading = this.#begin(context);
    if (reading) {
      const judged: Promise<void> = Promise.all([reading, before?.catch(() => undefined)])
        .then(([stretch]) => this.#judge(stretch))
        .finally(() => {
          if (this.#judging === judged) this.#judging = undefined;
        });
      this.#judging = judged;
      context.inBackground(judged);
    }
    if (!prompt && !crossed(context)) return undefined;
    // A failure is raised by whoever was given it to wait for.
    return before ? before.catch(() => undefined).then(tell) : tell();
  }

  /** Waits until all rows are judged. Rejects where the judge has thrown and the run has not gone on or ended since. */
  async settle(): Promise<void> {
    await this.#judging;
    if (this.#thrown) throw this.#thrown.error;
  }

  /** To be called in `onTrainingEnd`. */
  end(): void {
    this.#thrown = undefined;
  }

  /** Forgets what has not been judged: another run begins, or a state is set. */
  clear(): void {
    this.#stretches.length = 0;
    this.#judging = undefined;
    this.#thrown = undefined;
  }

  #begin({ values, counters, since }: TrainerContext): Promise<Stretch> | undefined {
    const { names, missing } = this.#options;
    // A call of rollouts alone reports other values.
    if (!values || counters.batches === since?.batches) return undefined;
    const tensors = names.map((name): Tensor => {
      const tensor = values.tensor(name);
      if (!tensor) throw missing(name, values.names);
      return tensor;
    });
    const [first = ""] = names;
    const { applied } = values;
    return read(applied ? [...tensors, applied] : tensors).then((arrays) => {
      const before = (row: number): number =>
        row === 0 ? (since?.updates ?? values.at(first, 0).updates - 1) : values.at(first, row - 1).updates;
      const rowAt = (row: number): Row => {
        const { updates: update, batches: batch } = values.at(first, row);
        const took = applied && Number(arrays.at(-1)?.[row]);
        return {
          ...{ update, batch, skipped: took === undefined ? 0 : update - before(row) - took },
          numbers: tensors.flatMap((tensor, i) => rowOf(tensor, arrays[i] as ArrayLike<number>, row)),
        };
      };
      return { rows: values.rows(first), rowAt, next: 0 };
    });
  }

  #judge(stretch: Stretch): void {
    const stretches = this.#stretches;
    stretches.push(stretch);
    // What comes after it is for a run that goes on all the same.
    if (this.#thrown) return;
    try {
      for (let first = stretches[0]; first; first = stretches[0]) {
        while (first.next < first.rows) this.#options.judge(first.rowAt(first.next++));
        stretches.shift();
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
