import {
  EspalierError,
  numberText,
  type Options,
  option,
  resolveOptions,
  type Settings,
} from "../../core/index.ts";
import { type Counters, every } from "../../schedule/index.ts";
import { copyState, type StateTree } from "../../state/index.ts";
import { latestIntervention, type TrainerContext, type TrainerHook } from "../../trainer/index.ts";
import { limitOf } from "./loss-spike-detector.ts";
import { metricMissing, RowWatch } from "./monitor.ts";

const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

const kind = "rollbackHook";
const table = {
  /** Default: `rollback`. */
  name: option.text({ default: "rollback" }),
  /** Updates from one look to the next. Default: 50. */
  updates: option.integer({ min: 1, default: 50 }),
  /** The metric of each batch that is looked at. Default: `loss`. */
  value: option.text({ default: "loss" }),
  /** Good losses that a loss is compared with. Spikes are not looked for before there are as many. Default: 50. */
  window: option.integer({ min: 2, default: 50 }),
  /** A loss above this many times their median is a spike; Infinity: only what is not finite counts. Default: 5. */
  factor: option.number({ above: 1, infinite: true, default: 5 }),
  /** Rates are multiplied by it each time. Default: 0.5. */
  lower: option.number({ above: 0, max: 1, default: 0.5 }),
  /** The ramps of the task that are lowered. Default: `["learningRate"]`. */
  rates: option.made<readonly string[], { readonly default: readonly string[] }>(
    'names of ramps, such as ["learningRate"]',
    isNames,
    { default: ["learningRate"] },
  ),
  /** The run fails after so many in a row without a good look between. Default: 5. */
  limit: option.integer({ min: 1, default: 5 }),
};

/** Options of {@link rollbackHook}. */
export interface RollbackOptions extends Options<typeof table> {}

/**
 * Undoes updates after which the loss was not finite or far above what it was, and goes on with a lower rate.
 *
 * ```
 * the start        a copy of what updates change: parameters, optimizer, running statistics
 * every 50 updates the losses since the last look, and whether all numbers were finite
 *   good           a new copy, and the one before stays; the losses join the window
 *   bad            the newest copy is put back, or the one before where the first loss since was bad already; rates are
 *                  multiplied by `lower`, the intervention is logged; counters and data go on, so that the batches since
 *                  the last look are not seen again
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
  const { name, updates, rates, value, window, lower, limit } = settings;
  let warn: (text: string) => void = () => undefined;
  let nonFinite: () => Promise<Counters | undefined> = async () => undefined;
  const record = newRecord();
  const watch = new RowWatch({
    names: [value],
    missing: metricMissing("rollback hook", "name in `value` what the task reports"),
    judge: ({ applied, numbers }) => {
      // An update that was left out has done nothing.
      if (applied) record.losses.push(numbers[0] as number);
    },
  });

  const accept = async ({ snapshot, interventions, counters }: TrainerContext): Promise<void> => {
    const { components } = await snapshot(interventions.learned);
    const states: Record<string, StateTree> = {};
    for (const [part, state] of Object.entries(components)) states[part] = await copyState(state);
    record.copies = [...record.copies.slice(-1), { states, update: counters.updates }];
    record.window = [...record.window, ...record.losses].slice(-window);
    record.losses = [];
    record.inRow = 0;
  };
  const undo = async (context: TrainerContext, reason: string, atEnd: boolean): Promise<void> => {
    const { counters, slots, log, interventions } = context;
    // A loss is that of the parameters before its update: the first one tells of the newest copy.
    const back = isBad(settings, record, record.losses[0]) ? record.copies[0] : record.copies.at(-1);
    record.losses = [];
    record.count++;
    record.inRow++;
    record.scale *= lower;
    if (!back || record.inRow > limit) throw exhausted(settings, record, reason, counters);
    record.copies = [back];
    await interventions.putBack(back.states, atEnd ? {} : undefined);
    for (const rate of rates) interventions.scaleRamp(rate, record.scale);
    const what = `back to update ${back.update}, rate x ${numberText(record.scale)}`;
    warn(`${name}: ${reason}: ${what}`);
    log({ [`${name}.count`]: record.count, [`${name}.scale`]: record.scale }, "health");
    slots.set(latestIntervention, { who: name, what, reason, counters });
  };
  const look = async (context: TrainerContext, atEnd: boolean): Promise<void> => {
    const first = await nonFinite();
    await watch.settle();
    const reason = reasonAgainst(settings, record, first);
    if (reason !== undefined) await undo(context, reason, atEnd);
    else if (!atEnd) await accept(context);
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
    state: {
      getState: async () => {
        await watch.settle();
        return { ...record, losses: [...record.losses] };
      },
      setState: (state) => {
        watch.clear();
        const saved = { ...newRecord(), ...(state as RollbackRecord) };
        Object.assign(record, saved, { losses: [...saved.losses] });
      },
    },
    onRegister: (host) => {
      warn = host.warn;
      watch.clear();
      Object.assign(record, newRecord());
    },
    onTrainingStart: async (context) => {
      nonFinite = context.interventions.watchNonFinite();
      // Refuses a rate that the task does not have, and takes over that of a resumed run.
      for (const rate of rates) context.interventions.scaleRamp(rate, record.scale);
      if (record.copies.length === 0) await accept(context);
    },
    onBatchesEnd: (context) => watch.look(context, () => undefined),
    children: [looking, ending],
  };
}

/** The last good states, the losses since, and how much has been undone: the hook's state. */
type RollbackRecord = {
  /** Of the last two good looks, the newest last. */
  copies: readonly {
    readonly states: { readonly [component: string]: StateTree };
    readonly update: number;
  }[];
  /** The last good losses, and those since the last look. */
  window: readonly number[];
  losses: number[];
  /** The factor of the rates. */
  scale: number;
  count: number;
  inRow: number;
};

const newRecord = (): RollbackRecord => ({
  copies: [],
  window: [],
  losses: [],
  scale: 1,
  count: 0,
  inRow: 0,
});

/** The fault of the updates since the last look, in words; undefined where nothing is. */
function reasonAgainst(
  settings: Settings<typeof table>,
  record: RollbackRecord,
  nonFinite: Counters | undefined,
): string | undefined {
  if (nonFinite) return `numbers were not finite in update ${nonFinite.updates}`;
  const bad = record.losses.find((loss) => isBad(settings, record, loss));
  return bad === undefined ? undefined : `${settings.value} was ${numberText(bad)}`;
}

/** A loss that is not finite, or far above the window's. */
function isBad(
  { window, factor }: Settings<typeof table>,
  record: RollbackRecord,
  loss: number | undefined,
): boolean {
  if (loss === undefined) return false;
  if (!Number.isFinite(loss)) return true;
  return record.window.length === window && loss > limitOf(Float64Array.from(record.window), factor).limit;
}

const exhausted = (
  { name, limit }: Settings<typeof table>,
  { scale }: RollbackRecord,
  reason: string,
  { updates }: Counters,
): EspalierError =>
  new EspalierError(
    "ROLLBACK_EXHAUSTED",
    `${name}: after ${limit} rollbacks in a row, and with the rate x ${numberText(scale)}, ${reason}`,
    { fix: "check the data and the loss, begin with a lower rate, or raise `limit`", update: updates },
  );
