import { checkNames, EspalierError, shown } from "../core/index.ts";
import { type Adds, advanceCounters, type Counters } from "../schedule/index.ts";
import type { Stateful } from "../state/index.ts";
import { activeOf, batchesUntilChange, type LossPhase, scheduleOf } from "./activity.ts";
import { asLoss } from "./as-loss.ts";
import { checkLosses } from "./check.ts";
import type { Objective, ObjectiveOptions } from "./contract.ts";
import { addedFields, fieldsOf } from "./fields.ts";
import type { Loss } from "./loss.ts";
import { giversOf, inOrder, withGivers } from "./order.ts";
import { Sets } from "./sets.ts";
import { type Evaluate, rateName, sumOf, weightName } from "./sum.ts";

/**
 * Puts losses together: one forward pass, the weighted sum of what is active, one compiled program for each set of
 * active losses.
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
  if (!(Number.isInteger(maxSets) && maxSets > 0))
    throw new EspalierError("OPTION_INVALID", `objective: maxSets is ${maxSets}`, {
      fix: "give a whole number from 1 on",
    });
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
  const sets = new Sets(names, maxSets);

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
    stretches: (phase, counters, adds, count) => {
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

function where(counters: Counters, losses: readonly Loss<never, never>[]): string {
  const { epoch, batches, updates, samples } = counters;
  const schedules = losses.map((loss) => `${loss.name} ${scheduleOf(loss, "train")?.describe()}`);
  return ` in epoch ${epoch} after ${batches} batches, ${updates} updates, ${samples} samples: ${schedules.join(", ")}`;
}

function componentsOf(losses: readonly Loss<never, never>[]): Readonly<Record<string, Stateful>> {
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
