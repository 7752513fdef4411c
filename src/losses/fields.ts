import { EspalierError, isPlainObject } from "../core/index.ts";
import type { Value, ValueLike } from "../engine/index.ts";
import { type ApplyOptions, inLayer, type Params } from "../nn/index.ts";
import type { Field, Loss } from "./loss.ts";
import { inputsFor, rateOf } from "./sum.ts";

const text = ({ shape, dtype }: Field): string => `${dtype}[${shape.join(",")}]`;

/** What these losses read from the batch, together. */
export function fieldsOf(losses: readonly Loss<never, never>[]): Readonly<Record<string, Field>> {
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

/** What is there while experience is gathered. */
export interface RolloutInputs<B, O> extends ApplyOptions {
  readonly params: Params;
  readonly batch: B;
  /** What the policy's own forward pass gave. */
  readonly outputs: O;
  /** Values of the objective's ramps, as for its sum. */
  readonly weights?: Readonly<Record<string, ValueLike>>;
}

/** The fields these losses add to experience. */
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
