import { treeMap } from "../core/index.ts";
import { np, put, random, read, type Value } from "../engine/index.ts";
import {
  compileRankUpdate,
  compileUpdate,
  firstNonFinite,
  gradientsOf,
  type Learner,
  type RankSum,
  repeat,
} from "../learner/index.ts";
import { asLoss, type Evaluate, type Loss, type LossFunction, shareName } from "../losses/index.ts";
import type { RankGroup, Report } from "../trainer/index.ts";

type TracedValues = Readonly<Record<string, Value>>;

interface Inputs {
  /** With an axis for the updates in front. */
  readonly batches: TracedValues;
  /** i32[2]: updates in this call, and before it. */
  readonly at: Value;
  readonly ramps: Value | null;
  readonly key: Value;
}

/** Inside a program: one step of the optimizer. The next states, and what is reported. */
function applyUpdate(
  learner: Learner,
  now: Parameters<Learner["applyGradients"]>[0] & { readonly first: Value },
  ramps: TracedValues,
  metrics: TracedValues,
  grads: Parameters<Learner["applyGradients"]>[3],
  number: Value,
) {
  const next = learner.applyGradients(now, ramps, metrics, grads);
  const first = firstNonFinite(now.first, next.finite, number);
  const states = { params: next.params, state: next.state, first };
  return [states, { metrics: next.values, applied: next.applied ?? null }] as const;
}

/** Compiles updates, each from its own batch. One program, however many updates a call does. */
export function learnProgram<B extends object>(learner: Learner, evaluate: Evaluate<B>, capacity: number) {
  const program = compileUpdate(
    { updates: learner.states },
    (states, { batches, at, ramps, key }: Inputs) => {
      const [count, before] = [np.take(at, 0), np.take(at, 1)];
      const xs = { batch: batches, ramps: learner.rates.stacks(ramps, capacity) };
      return repeat(capacity, count, states, xs, (now, { batch: drawn, ramps }, index) => {
        const number = index.add(before);
        const batch = learner.shard(drawn);
        const [metrics, grads] = gradientsOf((params) => {
          const own = random.foldIn(key, number);
          const { loss, metrics } = evaluate(params, batch as B, ramps, { train: true, key: own });
          return [loss, metrics] as const;
        }, now.params);
        return applyUpdate(learner, now, ramps, metrics, grads, number);
      });
    },
    learner.compileOptions("the training program"),
  );
  return { program, numbers: learner.rampNumbers(capacity) };
}

/**
 * Compiles updates of which each rank has a part of the units, as equal as can be. A call is one update. Losses count
 * as in one batch: each part has its share of what a loss counts, or of the units.
 */
export function rankLearnProgram<B extends object, O>(
  learner: Learner,
  ranks: RankSum,
  units: number,
  losses: readonly (Loss<B, O> | LossFunction<B, O>)[],
  names: readonly string[],
  evaluate: Evaluate<B>,
) {
  const start = (rank: number): number => Math.floor((units * rank) / ranks.ranks);
  const active = losses.map((loss) => asLoss<B, O>(loss)).filter(({ name }) => names.includes(name));
  const shareOf =
    (rank: number) =>
    (params: Parameters<Evaluate<B>>[0], { batches, at, key }: Inputs, ramps: TracedValues) => {
      const [from, size] = [start(rank), start(rank + 1) - start(rank)];
      const rows = (value: Value): Value => {
        const rest = value.shape.slice(1);
        return np.dynamicSlice(value, [from, ...rest.map(() => 0)], [size, ...rest]);
      };
      const batch = treeMap((value: Value) => np.squeeze(value, { axis: 0 }), batches);
      const part = treeMap(rows, batch) as unknown as B;
      const shares = active.map(({ name, count }): readonly [string, Value] => {
        if (!count) return [name, np.full([], size / units)];
        const [own, total] = [part, batch as unknown as B].map((rows) => count(rows).astype("f32"));
        return [name, (own as Value).div(np.where(np.equal(total as Value, 0), 1, total as Value))];
      });
      const factors = Object.fromEntries(shares);
      const named = shares.map(([name, share]) => [shareName(name), share] as const);
      const weights = { ...ramps, ...Object.fromEntries(named) };
      const own = random.foldIn(random.foldIn(key, np.take(at, 1)), rank);
      const [metrics, grads] = gradientsOf((now) => {
        const { loss, metrics } = evaluate(now, part, weights, { train: true, key: own });
        return [loss, metrics] as const;
      }, params);
      const scaled = Object.entries(metrics).map(([name, value]) => {
        const owner = names.find((one) => name.startsWith(`${one}.`)) ?? "";
        return [name, name === "loss" ? value : value.mul(factors[owner] ?? size / units)] as const;
      });
      return { grads, metrics: Object.fromEntries(scaled) as TracedValues };
    };
  const update = compileRankUpdate(learner, ranks, {
    name: "the training program",
    gradients: shareOf(ranks.rank),
    ...(start(ranks.rank + 1) === start(ranks.rank) && { shapes: shareOf(ranks.ranks - 1) }),
    apply: (now, { grads, metrics }, ramps, { at }: Pick<Inputs, "at">) => {
      const [states, result] = applyUpdate(learner, now, ramps, metrics, grads, np.take(at, 1));
      return [states, treeMap((value: Value) => np.expandDims(value, 0), result)] as const;
    },
  });
  return {
    program: (inputs: Parameters<typeof update>[0]) => update(inputs, { at: inputs.at }),
    numbers: learner.rampNumbers(1),
  };
}

/** The main rank's report on all ranks: it alone has rollouts. */
export async function sharedReport(
  ranks: RankGroup,
  { where }: Learner,
  own: Report | undefined,
): Promise<Report> {
  const numbers = own && { metrics: await read(own.metrics), counted: own.counted };
  const { metrics, counted } = await ranks.broadcast("rollouts", numbers);
  if (own) return own;
  const placed = Object.entries(metrics).map(([name, values]) => [name, put(values, where)]);
  return { metrics: Object.fromEntries(placed), ...(counted && { counted }) };
}
