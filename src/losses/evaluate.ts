import { didYouMean, EspalierError, isPlainObject, nameWords, shown } from "../core/index.ts";
import { isFloat, np, random, Value, type ValueLike } from "../engine/index.ts";
import { type ApplyOptions, inLayer, type Params } from "../nn/index.ts";
import type { Ramp } from "../schedule/index.ts";
import type { AnyLoss, Field, Loss, LossInputs, LossTerm } from "./loss.ts";
import type { ObjectiveOptions } from "./objective.ts";

/** Results of an objective: the sum of its terms, and all of them by name. */
export interface Evaluation {
  readonly loss: Value;
  /** `loss`, and of each term `<name>.loss` before its weight and `<name>.<metric>`. */
  readonly metrics: Readonly<Record<string, Value>>;
}

/**
 * An objective as math, for use inside `compile`. `weights` holds the values of the objective's ramps under their
 * names there, `weight.<loss>` and `rate.<loss>.<rate>`; it may hold others.
 */
export type Evaluate<B> = (
  params: Params,
  batch: B,
  weights: Readonly<Record<string, ValueLike>>,
  options?: ApplyOptions,
) => Evaluation;

/** The name of a loss's weight among ramps. */
export const weightName = (name: string): string => `weight.${name}`;

/** The name of the share of a loss that a micro-batch holds, among weights: a factor that is reported of no loss. */
export const shareName = (name: string): string => `share.${name}`;

/** The name of one of a loss's rates among ramps. */
export const rateName = (loss: string, rate: string): string => `rate.${loss}.${rate}`;

/** Sums the losses in `counted`; `needed` has those too whose values they read. Both are in order. */
export function sumOf<B, O>(
  objective: Pick<ObjectiveOptions<B, O>, "forward" | "metrics">,
  needed: readonly Loss<B, O>[],
  counted: ReadonlySet<Loss<B, O>>,
): Evaluate<B> {
  return (params, batch, weights, options = {}) => {
    const outputs = needed.length === 0 ? undefined : objective.forward(params, batch, options);
    const values = new Map<string, Value>();
    const metrics = new Map<string, Value>();
    let total: Value | undefined;
    for (const loss of needed) {
      const inputs = inputsFor(
        loss,
        { params, batch, outputs: outputs as O, rate: (name) => rateOf(loss, name, weights) },
        options,
        values,
      );
      const term = inLayer(`loss ${loss.name}`, () => loss.term(inputs));
      checkTerm(loss, term);
      for (const [name, value] of Object.entries(term.values ?? {})) values.set(name, value);
      if (!counted.has(loss)) continue;
      addMetrics(loss.name, term, metrics);
      const weight = weightOf(loss, weights);
      const whole = weight === 1 ? term.loss : np.multiply(term.loss, weight);
      const share = weights[shareName(loss.name)];
      const weighted = share === undefined ? whole : np.multiply(whole, share);
      total = total === undefined ? weighted : np.add(total, weighted);
    }
    const sum = total ?? np.zeros([]);
    const more = needed.length === 0 ? {} : objective.metrics?.(outputs as O, batch);
    return { loss: sum, metrics: { loss: sum, ...Object.fromEntries(metrics), ...more } };
  };
}

/** The inputs of a loss: the values it declared, and a key of its own, made when it is asked for. */
function inputsFor<B, O>(
  loss: Loss<B, O>,
  shared: Pick<LossInputs<B, O>, "params" | "batch" | "outputs" | "rate">,
  { train = false, key }: ApplyOptions,
  values?: ReadonlyMap<string, Value>,
): LossInputs<B, O> {
  return {
    ...shared,
    train,
    get key() {
      return termKey(loss.name, key);
    },
    read: (name) => {
      const value = loss.reads?.includes(name) ? values?.get(name) : undefined;
      if (value) return value;
      throw values
        ? new EspalierError(
            "LOSS_VALUE_UNDECLARED",
            `loss "${loss.name}" reads "${name}" without saying so`,
            {
              fix: `add it: reads: [${[...(loss.reads ?? []), name].map((one) => `"${one}"`).join(", ")}]`,
            },
          )
        : new EspalierError(
            "LOSS_VALUE_UNKNOWN",
            `loss "${loss.name}" reads "${name}" while experience is gathered, where terms give no values`,
            { fix: "compute it from batch and outputs, or read it in term" },
          );
    },
  };
}

/** A term's own key: it depends on the step's key and the term's name, never on which other terms are there. */
function termKey(name: string, key: Value | undefined): Value {
  if (key === undefined)
    throw new EspalierError("LOSS_KEY_MISSING", `loss "${name}" draws random numbers, and there is no key`, {
      fix: "pass a key with the step: { train: true, key }",
    });
  const [first, second] = nameWords(name);
  return random.foldIn(random.foldIn(key, first), second);
}

function weightOf(loss: AnyLoss, weights: Readonly<Record<string, ValueLike>>): ValueLike {
  return present(loss, "weight", loss.weight ?? 1, weightName(loss.name), weights);
}

/** A rate of a loss as it is now. */
function rateOf(loss: AnyLoss, name: string, weights: Readonly<Record<string, ValueLike>>): ValueLike {
  const rate = loss.rates?.[name];
  if (rate !== undefined) return present(loss, `rate "${name}"`, rate, rateName(loss.name, name), weights);
  throw new EspalierError(
    "LOSS_RATE_UNKNOWN",
    `loss "${loss.name}" has no rate "${name}"${didYouMean(name, Object.keys(loss.rates ?? {}))}`,
    { fix: `add it to the loss: rates: { ${name}: 0.2 }` },
  );
}

function present(
  loss: AnyLoss,
  what: string,
  number: Ramp | number,
  name: string,
  weights: Readonly<Record<string, ValueLike>>,
): ValueLike {
  if (typeof number === "number") return number;
  const given = weights[name];
  if (given !== undefined) return given;
  throw new EspalierError(
    "LOSS_WEIGHT_MISSING",
    `loss "${loss.name}" has a ramp for its ${what}, and its value was not given`,
    { fix: `pass the values of the objective's ramps: { "${name}": value }` },
  );
}

function addMetrics(name: string, { loss, metrics = {} }: LossTerm, all: Map<string, Value>): void {
  for (const [metric, value] of [["loss", loss] as const, ...Object.entries(metrics)]) {
    const full = `${name}.${metric}`;
    if (all.has(full))
      throw new EspalierError("LOSS_METRIC_CONFLICT", `loss "${name}": "${full}" is reported already`, {
        fix: `call the metric "${metric}" something else; "loss" is the term itself`,
      });
    if (!(value instanceof Value) || value.ndim !== 0)
      throw new EspalierError(
        "LOSS_METRIC_NOT_SCALAR",
        `loss "${name}": the metric "${metric}" is ${described(value)}, and metrics are scalars`,
        { fix: "reduce it: np.mean(value)" },
      );
    all.set(full, value);
  }
}

function checkTerm(loss: AnyLoss, term: LossTerm): void {
  const value: unknown = (term as LossTerm | undefined)?.loss;
  if (!(value instanceof Value) || value.ndim !== 0 || !isFloat(value.dtype))
    throw new EspalierError(
      "LOSS_NOT_SCALAR",
      `loss "${loss.name}" gave ${described(value ?? term)}, and a loss is one floating-point number`,
      {
        fix:
          (term as unknown) instanceof Promise
            ? "a loss is traced, not awaited: give a function that is not async"
            : "reduce it, np.mean(loss), and return { loss }",
      },
    );
  const [said, given] = [loss.gives ?? [], Object.keys(term.values ?? {})];
  const missing = said.find((name) => !given.includes(name));
  const extra = given.find((name) => !said.includes(name));
  if (missing === undefined && extra === undefined) return;
  throw new EspalierError(
    "LOSS_VALUE_UNDECLARED",
    missing === undefined
      ? `loss "${loss.name}" gave the value "${extra}" without saying so`
      : `loss "${loss.name}" says that it gives the value "${missing}", and gave none`,
    { fix: "let gives name exactly the values that term returns" },
  );
}

const described = (value: unknown): string =>
  value instanceof Promise ? "a promise" : value instanceof Value ? value.type.text : shown(value);

/** The fields that these losses read from the batch, together. */
export function fieldsOf(losses: readonly AnyLoss[]): Readonly<Record<string, Field>> {
  const fields: Record<string, Field> = {};
  const owners = new Map<string, string>();
  for (const loss of losses)
    for (const [name, field] of Object.entries(loss.fields ?? {})) {
      const known = fields[name];
      if (known && text(known) !== text(field))
        throw new EspalierError(
          "LOSS_FIELD_CONFLICT",
          `the field "${name}" is ${text(known)} to loss "${owners.get(name)}" and ${text(field)} to loss "${loss.name}"`,
          { fix: "let both read it alike, or give the fields different names" },
        );
      fields[name] ??= field;
      if (!owners.has(name)) owners.set(name, loss.name);
    }
  return fields;
}

const text = ({ shape, dtype }: Field): string => `${dtype}[${shape.join(",")}]`;

/** Inputs of losses while experience is gathered. */
export interface RolloutInputs<B, O> extends ApplyOptions {
  readonly params: Params;
  readonly batch: B;
  /** Outputs of the policy's own forward pass. */
  readonly outputs: O;
  /** Values of the objective's ramps, as for its sum. */
  readonly weights?: Readonly<Record<string, ValueLike>>;
}

/** The fields that these losses add to experience. */
export function addedFields<B, O>(
  losses: readonly Loss<B, O>[],
  { params, batch, outputs, weights = {}, ...options }: RolloutInputs<B, O>,
): Readonly<Record<string, Value>> {
  const added: Record<string, Value> = {};
  const owners = new Map<string, string>();
  for (const loss of losses) {
    if (!loss.rollout) continue;
    const inputs = inputsFor(
      loss,
      { params, batch, outputs, rate: (name) => rateOf(loss, name, weights) },
      options,
    );
    const fields = inLayer(`loss ${loss.name}`, () => loss.rollout?.(inputs)) ?? {};
    for (const [name, value] of Object.entries(fields)) {
      const owner = owners.get(name);
      if (owner !== undefined || (isPlainObject(batch) && name in batch))
        throw new EspalierError(
          "LOSS_FIELD_CONFLICT",
          `loss "${loss.name}" adds the field "${name}" to experience, which ${
            owner === undefined ? "is there already" : `loss "${owner}" adds too`
          }`,
          { fix: `let it add the field under a name of its own: "${loss.name}.${name}"` },
        );
      owners.set(name, loss.name);
      added[name] = value;
    }
  }
  return added;
}
