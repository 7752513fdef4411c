import { checkNames, checkSize, didYouMean, EspalierError, shown } from "../core/index.ts";
import type { Value } from "../engine/index.ts";
import type { ApplyOptions, Params } from "../nn/index.ts";
import { type Adds, advanceCounters, type Counters, type Ramp } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import { activeOf, batchesUntilChange, scheduleOf } from "./activity.ts";
import {
  addedFields,
  type Evaluate,
  fieldsOf,
  type RolloutInputs,
  rateName,
  sumOf,
  weightName,
} from "./evaluate.ts";
import {
  type AnyLoss,
  asLoss,
  checkLosses,
  type Field,
  giversOf,
  inOrder,
  type Loss,
  type LossFunction,
  type LossPhase,
  withGivers,
} from "./loss.ts";

/** Options of {@link objective}. */
export interface ObjectiveOptions<B, O> {
  /** The pass all terms share: run once in each step, whatever is active. It gets the step's own key. */
  forward(params: Params, batch: B, options: ApplyOptions): O;
  readonly losses: readonly (Loss<NoInfer<B>, NoInfer<O>> | LossFunction<NoInfer<B>, NoInfer<O>>)[];
  /** Further scalars of the forward pass, reported beside the terms and under names of their own. */
  metrics?(outputs: O, batch: B): Readonly<Record<string, Value>>;
  /** The most sets of active losses that are compiled before it is an error. Default: 16. */
  readonly maxSets?: number | undefined;
  /** Allows batches that begin with no loss active: their loss is 0. Default: false, an error. */
  readonly allowNone?: boolean | undefined;
}

/** Losses put together by `objective`. A set of losses is a list of their names, in the order of terms. */
export interface Objective<B, O> {
  /** All losses, in the order of terms: each after those whose values it reads, otherwise as given. */
  readonly names: readonly string[];
  /**
   * The losses that are active in a phase or batch that begins at these counters. `adds` is what one such batch adds
   * to them, so that intervals in units that jump (`samples`) are not missed.
   */
  active(phase: LossPhase, counters: Counters, adds?: Adds): readonly string[];
  /**
   * The number of batches, `limit` at most, in which these losses surely stay the same; `adds` is what each batch adds
   * to the counters (`steps` too, where schedules are written in it). Default for train batches: `batches: 1`.
   */
  until(phase: LossPhase, counters: Counters, adds: Adds, limit: number): number;
  /**
   * Cuts `count` batches from these counters on where the active losses change, and gives the lengths of the chunks.
   * Which losses are active is asked when a chunk, or the rest of it, begins.
   */
  chunks(phase: LossPhase, counters: Counters, adds: Adds, count: number): readonly number[];
  /** The sum of these losses, as math to compile. */
  evaluate(names: readonly string[]): Evaluate<B>;
  /**
   * Keeps what is made for each set of losses, usually a compiled step: coming back to a set makes nothing. Several
   * things can be kept, each by its own call; the sets are counted together.
   */
  perSet<T>(make: (evaluate: Evaluate<B>, names: readonly string[]) => T): (names: readonly string[]) => T;
  /** The sets that something was made for. */
  readonly sets: readonly (readonly string[])[];
  /** The fields that these losses, or all, read from the batch. */
  fields(names?: readonly string[]): Readonly<Record<string, Field>>;
  /** The fields these losses add while experience is gathered. */
  rollout(names: readonly string[], inputs: RolloutInputs<B, O>): Readonly<Record<string, Value>>;
  /** Weights and rates that change, as `weight.<loss>` and `rate.<loss>.<rate>`. Their values are what `evaluate` takes as weights. */
  readonly ramps: Readonly<Record<string, Ramp>>;
  /** States of losses, as `loss.<loss>`, and of their schedules, as `schedule.<loss>.<phase>`. */
  readonly components: Readonly<Record<string, Stateful>>;
  /** The losses' hooks. */
  readonly hooks: readonly { readonly name: string }[];
}

/**
 * Puts losses together: one forward pass, the weighted sum of what is active, one compiled program for each set of
 * active losses.
 *
 * ```
 * losses, each after those whose values it reads             loss.ts
 * active(phase, counters) -> names of the active losses      activity.ts: their schedules are asked
 * perSet(make)(names)     -> what was made for this set      usually a program that contains
 *   evaluate(names)(params, batch, weights):                 evaluate.ts
 *     outputs = forward(params, batch)                       once
 *     for each loss: term(outputs, batch, values of the losses before it, its own key)
 *     loss    = sum of weight * term
 * ```
 *
 * @example
 * ```ts
 * const aims = objective({
 *   forward: (params, batch: Batch, options) => model.apply(params, batch.x, options),
 *   losses: [fit, { ...smooth, active: { train: cycle({ epochs: 8, active: [1, 2] }) } }],
 * });
 * const stepFor = aims.perSet((evaluate) => compile((params: Params, batch: Batch) => evaluate(params, batch, {})));
 * const { loss } = stepFor(aims.active("train", counters))(params, batch);
 * ```
 */
export function objective<B, O>(options: ObjectiveOptions<B, O>): Objective<B, O> {
  checkNames("objective", options, ["forward", "losses", "metrics", "maxSets", "allowNone"]);
  const { maxSets = 16, allowNone = false } = options;
  checkSize("objective", "maxSets", maxSets);
  if (!Array.isArray(options.losses) || typeof options.forward !== "function")
    throw new EspalierError(
      "OPTION_INVALID",
      `objective: forward is ${shown(options.forward)} and losses is ${shown(options.losses)}`,
      { fix: "give a function and a list: { forward: (params, batch, options) => ..., losses: [loss] }" },
    );
  const given = options.losses.map((loss) => asLoss<B, O>(loss));
  checkLosses(given);
  const givers = giversOf(given);
  const losses = inOrder(given, givers);
  const names = losses.map((loss) => loss.name);
  const sets = new LossSets(names, maxSets);

  const pick = (wanted: readonly string[]): Loss<B, O>[] => {
    const set = sets.of(wanted);
    return losses.filter((loss) => set.includes(loss.name));
  };
  const complete = (phase: LossPhase, adds: Adds): Adds =>
    phase === "train" ? { batches: 1, ...adds } : adds;

  const evaluate = (wanted: readonly string[]): Evaluate<B> => {
    const counted = new Set(pick(wanted));
    if (counted.size === 0 && !allowNone) throw noneActive("");
    const needed = withGivers(counted, losses, givers);
    return sumOf(options, needed, counted);
  };
  const active = (phase: LossPhase, counters: Counters, adds: Adds = {}): readonly string[] => {
    if (losses.every((loss) => !scheduleOf(loss, phase))) return sets.of(names);
    const found = activeOf(losses, phase, counters, complete(phase, adds));
    // Gathering experience needs no loss; training without one is hardly meant.
    if (found.length === 0 && phase === "train" && !allowNone) throw noneActive(where(counters, losses));
    return sets.of(found.map((loss) => loss.name));
  };
  const until = (phase: LossPhase, counters: Counters, adds: Adds, limit: number): number =>
    batchesUntilChange(losses, phase, counters, complete(phase, adds), limit);

  return {
    names,
    active,
    until,
    chunks: (phase, counters, adds, count) => {
      const lengths: number[] = [];
      for (let done = 0; done < count; done += lengths.at(-1) as number)
        lengths.push(
          until(phase, advanceCounters(counters, complete(phase, adds), done), adds, count - done),
        );
      return lengths;
    },
    evaluate,
    perSet: (make) => sets.keep((set) => make(evaluate(set), set)),
    get sets() {
      return sets.made;
    },
    fields: (wanted = names) => fieldsOf(pick(wanted)),
    rollout: (wanted, inputs) => addedFields(pick(wanted), inputs),
    ramps: Object.fromEntries(
      losses.flatMap(({ name, weight, rates = {} }) => [
        ...(typeof weight === "object" ? [[weightName(name), weight] as const] : []),
        ...Object.entries(rates).flatMap(([rate, ramp]) =>
          typeof ramp === "object" ? [[rateName(name, rate), ramp] as const] : [],
        ),
      ]),
    ),
    components: componentsOf(losses),
    hooks: losses.flatMap((loss) => loss.hooks ?? []),
  };
}

function noneActive(when: string): EspalierError {
  return new EspalierError("LOSS_NONE_ACTIVE", `no loss is active${when}`, {
    fix: "let the schedules cover every batch, or say that such batches have a loss of 0: allowNone: true",
  });
}

function where(counters: Counters, losses: readonly AnyLoss[]): string {
  const { epoch, batches, updates, samples } = counters;
  const schedules = losses.map((loss) => `${loss.name} ${scheduleOf(loss, "train")?.describe()}`);
  return ` in epoch ${epoch} after ${batches} batches, ${updates} updates, ${samples} samples: ${schedules.join(", ")}`;
}

function componentsOf(losses: readonly AnyLoss[]): Readonly<Record<string, Stateful>> {
  const components: Record<string, Stateful> = {};
  // A schedule that several losses share is kept once.
  const seen = new Set<Stateful>();
  const keep = (name: string, state: Stateful | undefined): void => {
    if (!state || seen.has(state)) return;
    seen.add(state);
    components[name] = state;
  };
  for (const loss of losses) keep(`loss.${loss.name}`, loss.state);
  for (const loss of losses)
    for (const phase of ["rollout", "train"] as const)
      keep(`schedule.${loss.name}.${phase}`, scheduleOf(loss, phase)?.state);
  return components;
}

/** The sets of losses there are: each one list of names, in the order of terms. */
class LossSets {
  readonly #all: readonly string[];
  readonly #most: number;
  readonly #lists = new Map<string, readonly string[]>();
  readonly #known = new Set<readonly string[]>();
  readonly #made = new Set<readonly string[]>();

  /** `most`: for how many sets something may be made. */
  constructor(all: readonly string[], most: number) {
    this.#all = all;
    this.#most = most;
  }

  /** The sets for which something was made. */
  get made(): readonly (readonly string[])[] {
    return [...this.#made];
  }

  /** The set of these names: the same list each time, however they are written. */
  of(names: readonly string[]): readonly string[] {
    if (this.#known.has(names)) return names;
    const unknown = names.find((name) => !this.#all.includes(name));
    if (unknown !== undefined)
      throw new EspalierError(
        "LOSS_UNKNOWN",
        `there is no loss "${unknown}"${didYouMean(unknown, this.#all)}`,
        {
          fix: `the losses are ${this.#all.join(", ")}`,
        },
      );
    const ordered = this.#all.filter((name) => names.includes(name));
    const id = JSON.stringify(ordered);
    const list = this.#lists.get(id) ?? ordered;
    this.#lists.set(id, list);
    this.#known.add(list);
    return list;
  }

  /** Keeps what `make` gives for each set, so that coming back to one makes nothing. */
  keep<T>(make: (names: readonly string[]) => T): (names: readonly string[]) => T {
    const made = new Map<readonly string[], { readonly thing: T }>();
    return (names) => {
      const set = this.of(names);
      const known = made.get(set);
      if (known) return known.thing;
      this.#admit(set);
      const thing = make(set);
      made.set(set, { thing });
      this.#made.add(set);
      return thing;
    };
  }

  #admit(set: readonly string[]): void {
    if (this.#made.has(set) || this.#made.size < this.#most) return;
    throw new EspalierError(
      "LOSS_SETS_TOO_MANY",
      `the losses ${listed(set)} are one more set than the ${this.#most} compiled already: ${this.made
        .map(listed)
        .join(", ")}`,
      {
        fix: "let losses share schedules, keep one active and take its weight to 0 by a ramp, or raise maxSets",
      },
    );
  }
}

const listed = (names: readonly string[]): string =>
  names.length === 0 ? "(none)" : `(${names.join(" + ")})`;
