import {
  EspalierError,
  numberText,
  type OptionTable,
  option,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import { read, type Tensor } from "../../engine/index.ts";
import { type Counters, every } from "../../schedule/index.ts";
import { copyState, type Stateful, type StateTree } from "../../state/index.ts";
import { latestIntervention, type TrainerContext, type TrainerHook } from "../../trainer/index.ts";
import { limitOf } from "./loss-spike-detector.ts";
import { metricMissing } from "./monitor.ts";

/** Options of {@link rollbackHook}. */
export interface RollbackOptions {
  /** Default: `rollback`. */
  readonly name?: string;
  /** Updates from one look to the next. Default: 50. */
  readonly updates?: number;
  /** The metric of each batch that is looked at. Default: `loss`. */
  readonly value?: string;
  /** Good losses that a loss is compared with. Spikes are not looked for before there are as many. Default: 50. */
  readonly window?: number;
  /** A loss above this many times their median is a spike; Infinity: only what is not finite counts. Default: 5. */
  readonly factor?: number;
  /** Rates are multiplied by it each time. Default: 0.5. */
  readonly lower?: number;
  /** The ramps of the task that are lowered. Default: `["learningRate"]`. */
  readonly rates?: readonly string[];
  /** The run fails after so many in a row without a good look between. Default: 5. */
  readonly limit?: number;
}

const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

const kind = "rollbackHook";
const table = {
  name: option.text({ default: "rollback" }),
  updates: option.integer({ min: 1, default: 50 }),
  value: option.text({ default: "loss" }),
  window: option.integer({ min: 2, default: 50 }),
  factor: option.number({ above: 1, infinite: true, default: 5 }),
  lower: option.number({ above: 0, max: 1, default: 0.5 }),
  rates: option.made<readonly string[], { readonly default: readonly string[] }>(
    'names of ramps, such as ["learningRate"]',
    isNames,
    { default: ["learningRate"] },
  ),
  limit: option.integer({ min: 1, default: 5 }),
} satisfies OptionTable<RollbackOptions>;

/**
 * Undoes updates after which the loss was not finite or far above what it was, and goes on with a lower rate.
 *
 * ```
 * the start        a copy of what updates change (parameters, optimizer, running statistics): the last good state
 * every 50 updates the losses since the last look, and whether all numbers were finite
 *   good           a new copy; the losses join the window
 *   bad            the copy is put back, rates are multiplied by `lower`, the intervention is logged; counters and data
 *                  go on, so that the batches since the last look are not seen again
 * the end          one more look: a bad end is put back too
 * ```
 *
 * While it is registered, updates that are not finite do not fail the run, whatever `onNonFinite` says; five looks in a
 * row that are bad do (ROLLBACK_EXHAUSTED). It looks at exactly these updates, however work is cut, and all that it
 * remembers is state, the copy too: an interrupted run goes on with the same bits.
 *
 * @example
 * ```ts
 * const hooks = [rollbackHook({ updates: 100, factor: 10 }), checkpointHook({ directory })];
 * ```
 */
export function rollbackHook(options: RollbackOptions = {}): TrainerHook {
  const settings = resolveOptions(kind, options, table);
  const { name, updates, rates } = settings;
  let warn: (text: string) => void = () => undefined;
  let nonFinite: () => Promise<Counters | undefined> = async () => undefined;
  const record = new RollbackRecord(settings);

  const look = async (context: TrainerContext, atEnd: boolean): Promise<void> => {
    const reason = await record.reasonAgainst(await nonFinite());
    if (reason === undefined) {
      if (!atEnd) await record.accept(context);
      return;
    }
    const { states } = record.undo(reason, context);
    await context.interventions.putBack(states, atEnd ? {} : undefined);
    for (const rate of rates) context.interventions.scaleRamp(rate, record.scale);
    const { counters, slots, log } = context;
    const what = `back to update ${record.goodAt}, rate x ${numberText(record.scale)}`;
    warn(`${name}: ${reason}: ${what}`);
    log({ [`${name}.count`]: record.count, [`${name}.scale`]: record.scale }, "health");
    slots.set(latestIntervention, { who: name, what, reason, counters });
  };

  const looking: TrainerHook = {
    name: `${name}.look`,
    schedule: every({ updates }),
    onBatchEnd: (context) => look(context, false),
  };
  const ending: TrainerHook = {
    name: `${name}.end`,
    // Before a checkpoint hook looks for what is to be saved.
    priority: Number.POSITIVE_INFINITY,
    onTrainingEnd: (context) =>
      context.outcome === "completed" || context.outcome === "stopped" ? look(context, true) : undefined,
  };
  return {
    name,
    provides: [latestIntervention],
    state: record,
    onRegister: (host) => {
      warn = host.warn;
      record.clear();
    },
    onTrainingStart: async (context) => {
      nonFinite = context.interventions.watchNonFinite();
      // Refuses a rate that the task does not have, and takes over that of a resumed run.
      for (const rate of rates) context.interventions.scaleRamp(rate, record.scale);
      if (record.goodAt < 0) await record.accept(context);
    },
    onBatchesEnd: (context) => record.add(context),
    children: [looking, ending],
  };
}

type Good = { readonly [component: string]: StateTree };

type Saved = {
  readonly good: Good | null;
  readonly goodAt: number;
  /** The last good losses, and those since the last look. */
  readonly window: Float64Array;
  readonly losses: Float64Array;
  readonly scale: number;
  readonly count: number;
  readonly inRow: number;
};

/** The last good state, the losses since, and what has been undone. */
class RollbackRecord implements Stateful {
  readonly varies = true;
  /** The factor of the rates. */
  scale = 1;
  /** Rollbacks of the run. */
  count = 0;
  /** The update of the last good state; -1 where there is none. */
  goodAt = -1;
  readonly #settings: Settings<typeof table>;
  #good: Good = {};
  #window: readonly number[] = [];
  #losses: readonly number[] = [];
  /** Losses of calls that have not been read, with the updates that took effect. */
  #unread: { readonly tensors: readonly Tensor[]; readonly rows: number }[] = [];
  #inRow = 0;

  constructor(settings: Settings<typeof table>) {
    this.#settings = settings;
  }

  /** Takes the losses of a call. */
  add({ values, counters, since }: TrainerContext): void {
    const { value } = this.#settings;
    // A call of rollouts alone reports other metrics.
    if (!values || counters.batches === since?.batches) return;
    const tensor = values.tensor(value);
    if (!tensor) throw missing(value, values.names);
    const { applied } = values;
    this.#unread.push({ tensors: applied ? [tensor, applied] : [tensor], rows: values.rows(value) });
  }

  /** What is wrong with the updates since the last look; undefined where nothing is. */
  async reasonAgainst(nonFinite: Counters | undefined): Promise<string | undefined> {
    const { value, window, factor } = this.#settings;
    await this.#read();
    const infinite = this.#losses.find((loss) => !Number.isFinite(loss));
    if (nonFinite) return `numbers were not finite in update ${nonFinite.updates}`;
    if (infinite !== undefined) return `${value} was ${infinite}`;
    if (this.#window.length < window || factor === Number.POSITIVE_INFINITY) return undefined;
    const { limit, median } = limitOf(this.#window, factor);
    const worst = Math.max(...this.#losses);
    if (!(worst > limit)) return undefined;
    return `${value} rose to ${numberText(worst)}, the median is ${numberText(median)}`;
  }

  /** The state of now is the last good one. */
  async accept({ snapshot, interventions, counters }: TrainerContext): Promise<void> {
    const { components } = await snapshot(interventions.learned);
    this.#good = (await copyState(components)) as Good;
    this.goodAt = counters.updates;
    this.#window = [...this.#window, ...this.#losses].slice(-this.#settings.window);
    this.#losses = [];
    this.#inRow = 0;
  }

  /** Forgets the losses since the last look, and gives the states to put back. Throws where it has been too often. */
  undo(reason: string, { counters }: TrainerContext): { readonly states: Good } {
    const { limit, lower, name } = this.#settings;
    this.#losses = [];
    this.count++;
    this.#inRow++;
    this.scale *= lower;
    if (this.#inRow <= limit) return { states: this.#good };
    throw new EspalierError(
      "ROLLBACK_EXHAUSTED",
      `${name}: after ${limit} rollbacks in a row, and with the rate x ${numberText(this.scale)}, ${reason}`,
      {
        fix: "check the data and the loss, begin with a lower rate, or raise `limit`",
        update: counters.updates,
      },
    );
  }

  async #read(): Promise<void> {
    const unread = this.#unread;
    this.#unread = [];
    const arrays = await read(unread.map(({ tensors }) => tensors));
    const losses = unread.flatMap(({ rows }, call) => {
      const [all, applied] = arrays[call] as readonly ArrayLike<number>[];
      const indices = Array.from({ length: rows }, (_, row) => row);
      // An update that was left out has done nothing.
      return indices.filter((row) => Number(applied?.[row] ?? 1) !== 0).map((row) => Number(all?.[row]));
    });
    this.#losses = [...this.#losses, ...losses];
  }

  /** As for a run that has not begun. */
  clear(): void {
    this.scale = 1;
    this.count = 0;
    this.goodAt = -1;
    this.#good = {};
    this.#window = [];
    this.#losses = [];
    this.#unread = [];
    this.#inRow = 0;
  }

  async getState(): Promise<StateTree> {
    await this.#read();
    const saved: Saved = {
      good: this.#good,
      goodAt: this.goodAt,
      window: Float64Array.from(this.#window),
      losses: Float64Array.from(this.#losses),
      scale: this.scale,
      count: this.count,
      inRow: this.#inRow,
    };
    return saved;
  }

  setState(state: StateTree): void {
    const { good, goodAt, window, losses, scale, count, inRow } = (state ?? {}) as Partial<Saved>;
    if (!good || !window || !losses || goodAt === undefined || scale === undefined)
      throw new EspalierError("STATE_INVALID", "this is not the state of rollbackHook", {
        fix: "restore what rollbackHook gave",
      });
    this.clear();
    this.#good = good;
    this.goodAt = goodAt;
    this.#window = [...window];
    this.#losses = [...losses];
    this.scale = scale;
    this.count = count ?? 0;
    this.#inRow = inRow ?? 0;
  }
}

const missing = metricMissing("rollback hook", "name in `value` what the task reports");
