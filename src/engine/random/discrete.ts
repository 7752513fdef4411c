import { checkOptions } from "../np/arguments.ts";
import { asValue, type ValueLike } from "../np/operands.ts";
import { splat } from "../ops/constant.ts";
import { add, less, select } from "../ops/elementwise.ts";
import { argExtremum } from "../ops/reduce.ts";
import { checkAxis, checkDType } from "../ops/rules.ts";
import { checkShape } from "../ops/shape.ts";
import { type DType, isUnsigned } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { type Shape, shapeText } from "../trace/type.ts";
import { currentTrace, type Value } from "../trace/value.ts";
import { gumbel } from "./continuous.ts";
import { checkKey, type Key } from "./key.ts";
import { between, parameter } from "./uniform.ts";

/**
 * Booleans that are true with probability `p`. Default shape: that of `p`.
 *
 * @example
 * ```ts
 * const kept = random.bernoulli(key, 0.9, x.shape);
 * ```
 */
export function bernoulli(key: Key, p: ValueLike = 0.5, shape?: Shape): Value {
  currentTrace("bernoulli");
  if (typeof p === "number" && !(p >= 0 && p <= 1))
    throw userError("ARGUMENT_INVALID", `bernoulli: ${p} is no probability`, "give p from 0 to 1");
  const size = shape ?? (typeof p === "number" ? [] : asValue(p, undefined, "bernoulli: p").shape);
  checkShape("bernoulli", size);
  const u = between(key, "bernoulli", size, 0, 1);
  return less(u, parameter("bernoulli", "p", p, "f32", size));
}

/**
 * 1 and -1, equally likely.
 *
 * @example
 * ```ts
 * random.rademacher(key, [8], { dtype: "f32" });
 * ```
 */
export function rademacher(key: Key, shape: Shape = [], options: { readonly dtype?: DType } = {}): Value {
  checkKey("rademacher", key);
  checkShape("rademacher", shape);
  checkOptions("rademacher", options, ["dtype"]);
  const dtype = options.dtype ?? "i32";
  if (isUnsigned(dtype) || dtype === "bool")
    throw userError("DTYPE_UNSUPPORTED", `rademacher: ${dtype} has no -1`, 'use "i32" or "f32"');
  return select(bernoulli(key, 0.5, shape), splat(1, dtype, shape), splat(-1, dtype, shape));
}

/** Options of {@link categorical}. */
export interface CategoricalOptions {
  /** Along which axis of the logits the categories stand. Default: the last. */
  readonly axis?: number;
  /** The shape of the sample, to which the logits' other axes are repeated. Default: those axes. */
  readonly shape?: Shape;
}

/**
 * Categories (i32), each as likely as the softmax of its logits says.
 *
 * @example
 * ```ts
 * const actions = random.categorical(key, logits);                     // f32[64,4] gives i32[64]
 * const many = random.categorical(key, logits, { shape: [100, 64] });
 * ```
 */
export function categorical(key: Key, logits: ValueLike, options: CategoricalOptions = {}): Value {
  const fn = "categorical";
  checkKey(fn, key);
  checkOptions(fn, options, ["axis", "shape"]);
  const given = asValue(logits, undefined, `${fn}: the logits`);
  checkDType(fn, "the logits", given.type, "float");
  const axis = checkAxis(fn, options.axis ?? -1, given.ndim);
  const categories = given.shape[axis] as number;
  if (categories === 0)
    throw userError(
      "ARGUMENT_INVALID",
      `${fn}: axis ${axis} of ${shapeText(given.shape)} has no categories`,
      "give at least one logit",
    );
  const others = given.shape.filter((_, i) => i !== axis);
  const shape = options.shape ?? others;
  checkShape(fn, shape);
  const added = shape.length - others.length;
  if (added < 0)
    throw userError(
      "SHAPE_MISMATCH",
      `${fn}: the sample has shape ${shapeText(shape)}, but the logits' other axes have shape ${shapeText(others)}`,
      "give a shape that ends in the logits' other axes",
    );
  const all = [...shape.slice(0, added + axis), categories, ...shape.slice(added + axis)];
  const scores = add(gumbel(key, all), parameter(fn, "the logits", given, "f32", all));
  return argExtremum(scores, added + axis, "max");
}
