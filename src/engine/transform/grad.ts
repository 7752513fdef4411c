import { describeDifference, flatten, leafPaths, type MapTree, sameShape } from "../../core/index.ts";
import { asValue } from "../np/operands.ts";
import { splat, zerosLike } from "../ops/constant.ts";
import { add, identity } from "../ops/elementwise.ts";
import { differentiate } from "../trace/differentiate.ts";
import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import type { Value } from "../trace/value.ts";
import { type Flat, flat, grow } from "./tree.ts";

/** Arguments to differentiate by, and whether the function returns more than its loss. */
export interface GradOptions {
  /** Position, or positions, of the arguments. Default: the first. */
  readonly argnums?: number | readonly number[];
}

/** Copies of a tree's values under names of their own: the variables of one derivative. */
function fresh(tree: unknown, what: string): Flat {
  const given = flat(tree);
  const values = given.values.map((value, i) => {
    if (!isFloat(value.dtype))
      throw userError(
        "NOT_DIFFERENTIABLE",
        `${what}: argument at "${leafPaths(given.shape)[i]}" is ${value.type.text}; derivatives are by floating-point values`,
        'leave it out of argnums, or convert it: x.astype("f32")',
      );
    return identity(value);
  });
  return { shape: given.shape, values };
}

/** The derivatives of `outputs` by variables, each built like its variable. */
function derivatives(
  outputs: readonly Value[],
  cotangents: readonly (Value | undefined)[],
  variables: readonly Flat[],
): unknown[] {
  const by = variables.flatMap(({ values }) => values);
  const all = differentiate(outputs, cotangents, by, add).map((ct, i) => ct ?? zerosLike(by[i] as Value));
  return variables.map(({ shape, values }) => grow(shape, all.splice(0, values.length)));
}

type Grads<A extends readonly unknown[], I> = I extends readonly number[]
  ? { [K in keyof I]: A[I[K] & keyof A] }
  : I extends number
    ? A[I & keyof A]
    : A[0];

function pick(args: readonly unknown[], argnums: number | readonly number[] | undefined, what: string) {
  const positions = typeof argnums === "object" ? argnums : [argnums ?? 0];
  const wrong = positions.find((i) => !(Number.isInteger(i) && i >= 0 && i < args.length));
  if (wrong !== undefined)
    throw userError(
      "ARGUMENT_INVALID",
      `${what}: there is no argument ${wrong}; the call has ${args.length}`,
      "count arguments from 0",
    );
  return positions;
}

function run(
  fn: (...args: never[]) => unknown,
  args: readonly unknown[],
  argnums: number | readonly number[] | undefined,
  what: string,
): { readonly result: unknown; readonly grads: unknown } {
  const positions = pick(args, argnums, what);
  const variables = positions.map((at) => fresh(args[at], what));
  const given = [...args];
  positions.forEach((at, i) => {
    const { shape, values } = variables[i] as Flat;
    given[at] = grow(shape, values);
  });
  const result = fn(...(given as never[]));
  const loss = asValue(Array.isArray(result) ? result[0] : result);
  if (loss.ndim !== 0 || !isFloat(loss.dtype))
    throw userError(
      "LOSS_NOT_SCALAR",
      `${what}: the function gave ${loss.type.text}; derivatives are of one floating-point number`,
      "reduce it: np.mean(loss) or np.sum(loss); return [loss, extras] to give more than the loss",
    );
  const trees = derivatives([loss], [splat(1, loss.dtype)], variables);
  return { result, grads: typeof argnums === "object" ? trees : trees[0] };
}

/**
 * The gradient of a function that gives one number, by its first argument (a value or a tree of values).
 *
 * @example
 * ```ts
 * const slope = compile((x: Value) => grad((v: Value) => np.sum(np.square(v)))(x)); // 2x
 * ```
 */
export function grad<A extends readonly unknown[], const I extends number | readonly number[] = 0>(
  fn: (...args: A) => Value,
  options: { readonly argnums?: I } = {},
): (...args: A) => Grads<A, I> {
  return (...args) =>
    run(fn as (...args: never[]) => unknown, args, options.argnums, "grad").grads as Grads<A, I>;
}

/**
 * Value and gradient together. A function that returns `[loss, extras]` gets both back, and only the loss is
 * differentiated.
 *
 * @example
 * ```ts
 * const [[loss, { accuracy }], grads] = valueAndGrad((params: Params) => [loss(params), { accuracy }])(params);
 * ```
 */
export function valueAndGrad<
  A extends readonly unknown[],
  const R extends Value | readonly [loss: Value, ...extras: unknown[]],
  const I extends number | readonly number[] = 0,
>(
  fn: (...args: A) => R,
  options: { readonly argnums?: I } = {},
): (...args: A) => [value: R, grads: Grads<A, I>] {
  return (...args) => {
    const { result, grads } = run(fn as (...args: never[]) => unknown, args, options.argnums, "valueAndGrad");
    return [result as R, grads as Grads<A, I>];
  };
}

/**
 * A function's result and the way back: from the cotangents of the result to those of all arguments.
 *
 * @example
 * ```ts
 * const [y, back] = vjp((x: Value) => np.sin(x), x);
 * const [dx] = back(np.onesLike(y));
 * ```
 */
export function vjp<A extends readonly unknown[], const R>(
  fn: (...args: A) => R,
  ...args: A
): [result: R, back: (cotangents: MapTree<R, Value, Value>) => A] {
  const variables = args.map((arg) => fresh(arg, "vjp"));
  const given = variables.map(({ shape, values }) => grow(shape, values));
  const result = fn(...(given as readonly unknown[] as A));
  const { shape, values: outputs } = flat(result);
  const back = (cotangents: unknown): A => {
    const given: unknown[] = [];
    const givenShape = flatten(cotangents, given);
    if (!sameShape(shape, givenShape))
      throw userError(
        "TREE_MISMATCH",
        `vjp: ${describeDifference(shape, givenShape)}`,
        "give one cotangent for each result",
      );
    const cts = given.map((ct, i) => matching(asValue(ct, outputs[i]?.dtype), outputs[i] as Value));
    return derivatives(outputs, cts, variables) as readonly unknown[] as A;
  };
  return [result, back];
}

function matching(ct: Value, output: Value): Value {
  if (ct.type !== output.type)
    throw userError(
      "SHAPE_MISMATCH",
      `vjp: the cotangent is ${ct.type.text} and the result is ${output.type.text}`,
      "give cotangents of the results' shapes and types",
    );
  return ct;
}
