import {
  badOption,
  countInWords,
  EspalierError,
  isPlainObject,
  isWorthSaying,
  numberText,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../../core/index.ts";
import { type GradientHealth, gradientHealth, type TrainerHook } from "../../trainer/index.ts";
import { type JudgedRow, metricMissing, monitorHook, newest } from "./monitor.ts";

/** A reason to halt a run. `notFinite`: NaN or infinite. */
export type Ailment = "notFinite" | "exploding" | "vanishing";

type Halt = { readonly [A in Ailment]?: number | false };

const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string");

const kind = "gradientMonitor";
const table = {
  /** Default: `gradients`. */
  name: option.text({ default: "gradients" }),
  /** The metrics of each update that it judges, together. Default: `["gradientNorm"]`. */
  values: option.made<readonly string[], { readonly default: readonly string[] }>(
    'names of metrics, such as ["gradientNorm"]',
    isNames,
    { default: ["gradientNorm"] },
  ),
  /** Norms below it vanish; 0 for none. Default: 1e-7. */
  vanishing: option.number({ min: 0, default: 1e-7 }),
  /** Norms above it explode; Infinity for none. Default: 10. */
  exploding: option.number({ above: 0, infinite: true, default: 10 }),
  /**
   * After how many updates in a row the run fails, for each ailment; false for never. Default: `{ notFinite: 3 }`, the
   * others never. False alone: the run is never halted.
   */
  halt: option.made<false | Halt>(
    "{ notFinite: 3 }, or false for never",
    (value) => value === false || isPlainObject(value),
    {},
  ),
};
const after = <D extends number | false>(value: D) =>
  option.either(
    option.integer({ min: 1 }),
    option.made<false>("false", (given) => given === false, {}),
    { default: value },
  );
const haltTable = { notFinite: after(3), exploding: after(false), vanishing: after(false) };

/** Options of {@link gradientMonitor}. */
export interface GradientMonitorOptions extends Options<typeof table> {}

type GradientSettings = ReturnType<typeof settingsOf>;

/**
 * Looks at the gradient norm of every update and says where gradients vanish, explode, are not a number or infinite:
 * the 1st, 10th, 100th time of each. Three updates in a row that are not finite fail the run with
 * GRADIENTS_NOT_FINITE, so that a checkpoint hook leaves the last good state alone; `halt` says after how many of which.
 *
 * It never prevents fusing and never keeps the device waiting: metrics are judged when they are there, while later calls
 * are under way. Counts and streaks go on over calls and resumed runs, and do not depend on how batches were cut. Every
 * 32 batches and at the end it logs the counts so far under `health` (`gradients.nan`, ...).
 *
 * It provides the slot `gradientHealth`: the newest norm, the greatest finite one of the last 100 updates, and how many
 * updates the optimizer left out. Where a hook reads the slot, each call's metrics are waited for, so that it sees all
 * batches up to its own, however they were cut; otherwise the slot is filled at the end of the run.
 *
 * @example
 * ```ts
 * const task = supervisedTask({ ...options, monitor: { gradients: true } });
 * const hooks = [gradientMonitor({ exploding: 100, halt: { notFinite: 5, exploding: 50 } })];
 * await new Trainer({ task, config, hooks }).train();
 * ```
 */
export function gradientMonitor(options: GradientMonitorOptions = {}): TrainerHook {
  const settings = settingsOf(options);
  const { name } = settings;
  return monitorHook({
    name,
    names: settings.values,
    missing: metricMissing(
      "gradient monitor",
      "have gradient norms reported: supervisedTask({ ..., monitor: { gradients: true } }); or name in `values` what the task reports",
    ),
    begin: newRecord,
    judge: (record, row, warn) => judge(settings, record, row, warn),
    tell: ({ counts, norms }, context) => {
      if (norms.length === 0) return;
      const named = Object.entries(counts).map(([symptom, count]) => [`${name}.${symptom}`, count]);
      context.log(Object.fromEntries(named), "health");
    },
    slot: gradientHealth,
    provide: (record, { slots }) => {
      const health = healthOf(record);
      if (health) slots.set(gradientHealth, health);
    },
  });
}

function settingsOf(options: GradientMonitorOptions) {
  const { halt = {}, ...settings } = resolveOptions(kind, options, table);
  const { vanishing, exploding } = settings;
  if (!(exploding > vanishing))
    throw badOption(
      kind,
      `exploding is ${shown(exploding)}, and vanishing is ${vanishing}`,
      "give a norm above that at which gradients vanish, such as 10",
    );
  const never = { notFinite: false, exploding: false, vanishing: false } as const;
  return { ...settings, halt: resolveOptions(`${kind}: halt`, halt === false ? never : halt, haltTable) };
}

/** A judgement of an update's gradients. */
type Symptom = "nan" | "infinite" | "exploding" | "vanishing";

/** How many of the last updates the greatest norm is of. */
const recent = 100;

/** How the gradients of a run have been, update by update. */
const newRecord = () => ({
  counts: { nan: 0, infinite: 0, exploding: 0, vanishing: 0 } satisfies Record<Symptom, number>,
  streaks: { notFinite: 0, exploding: 0, vanishing: 0 } satisfies Record<Ailment, number>,
  /** The greatest number of each of the last updates, oldest first. */
  norms: new Float64Array(),
  skipped: 0,
});

type GradientRecord = ReturnType<typeof newRecord>;

/** For the slot; undefined before the first update. */
function healthOf({ norms, skipped }: GradientRecord): GradientHealth | undefined {
  const norm = norms.at(-1);
  if (norm === undefined) return undefined;
  const finite = norms.filter(Number.isFinite);
  return { norm, maxNorm: finite.length > 0 ? Math.max(...finite) : Number.NaN, skipped };
}

function judge(
  settings: GradientSettings,
  record: GradientRecord,
  { update, numbers, skipped }: JudgedRow,
  warn: (text: string) => void,
): void {
  record.skipped += skipped;
  const { vanishing, exploding, halt } = settings;
  let [least, most, nan] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, false];
  for (const number of numbers) {
    if (Number.isNaN(number)) nan = true;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  // A norm is never below 0; minus infinity can only be another metric's.
  const infinite = most === Number.POSITIVE_INFINITY || least === Number.NEGATIVE_INFINITY;
  record.norms = newest(record.norms, nan ? Number.NaN : most, recent);
  let symptom: Symptom | undefined;
  if (nan) symptom = "nan";
  else if (infinite) symptom = "infinite";
  else if (most > exploding) symptom = "exploding";
  else if (least < vanishing) symptom = "vanishing";
  const ailment = symptom === "nan" || symptom === "infinite" ? "notFinite" : symptom;
  const { counts, streaks } = record;
  for (const each of Object.keys(streaks) as Ailment[])
    streaks[each] = each === ailment ? streaks[each] + 1 : 0;
  if (!symptom || !ailment) return;
  const culprit = culpritOf(symptom, least, most);
  const count = ++counts[symptom];
  if (isWorthSaying(count))
    warn(`${symptomText(settings, symptom, update, culprit)} (${countInWords(count)})`);
  const limit = halt[ailment];
  const inRow = streaks[ailment];
  if (limit === false || inRow < limit) return;
  streaks[ailment] = 0;
  throw halted(ailment, inRow, update, culprit, settings);
}

function symptomText(
  { values, vanishing, exploding }: GradientSettings,
  symptom: Symptom,
  update: number,
  culprit: number,
): string {
  const words = {
    nan: ["not a number", ""],
    infinite: ["infinite", ""],
    exploding: ["exploding", `, above ${exploding}`],
    vanishing: ["vanishing", `, below ${vanishing}`],
  };
  const [what, limit] = words[symptom];
  return `gradients ${what} in update ${update}: ${values.join(", ")} ${numberText(culprit)}${limit}`;
}

function culpritOf(symptom: Symptom, least: number, most: number): number {
  if (symptom === "nan") return Number.NaN;
  return symptom === "vanishing" || least === Number.NEGATIVE_INFINITY ? least : most;
}

/** The error with which a run is halted: a halted run has failed, so that its checkpoints stay as they are. */
function halted(
  ailment: Ailment,
  inRow: number,
  update: number,
  culprit: number,
  { values, vanishing, exploding, name }: GradientSettings,
): EspalierError {
  const words: Readonly<Record<Ailment, readonly [code: string, what: string, fix: string]>> = {
    notFinite: [
      "GRADIENTS_NOT_FINITE",
      "gradients were not finite",
      "lower the learning rate, clip by optim.clipByGlobalNorm, skip such updates by optim.skipNonFinite, " +
        "and look in the loss for divisions and logarithms of 0",
    ],
    exploding: [
      "GRADIENTS_EXPLODING",
      `gradient norms were above ${exploding}`,
      "lower the learning rate, clip by optim.clipByGlobalNorm, or raise `exploding`",
    ],
    vanishing: [
      "GRADIENTS_VANISHING",
      `gradient norms were below ${vanishing}`,
      "look for layers that saturate or are cut off, raise the learning rate, or lower `vanishing`",
    ],
  };
  const [code, what, fix] = words[ailment];
  const where = inRow === 1 ? `update ${update}` : `${inRow} updates in a row, up to update ${update}`;
  return new EspalierError(code, `${what} in ${where} (${values.join(", ")} ${numberText(culprit)})`, {
    fix: `${fix}; then go on from the last checkpoint. \`halt\` of ${name} says how many are borne`,
    update,
  });
}
