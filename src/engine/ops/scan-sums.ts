import type { Value } from "../trace/value.ts";
import { type DotDims, dotGeneral } from "./dot.ts";
import { add } from "./elementwise.ts";
import { reduceSum } from "./reduce.ts";
import { reshape, transpose } from "./shape.ts";

/** Computes the sum of a value over all steps of a loop after the loop, from stacks of its inputs. */
export interface LateSum {
  /** The values of each step whose stacks it needs. */
  readonly needs: readonly Value[];
  /** The sum, given the stack of a needed value. */
  readonly build: (stackOf: (value: Value) => Value) => Value;
}

/**
 * A weight's gradient is a sum of products over the steps, and a sum of products is one larger product over the
 * stacked factors: much faster than adding up small ones inside the loop. Undefined where the value is no such thing.
 * `varies` says which values differ from step to step.
 */
function lateSum(value: Value, varies: (value: Value) => boolean): LateSum | undefined {
  const { op, inputs, params } = value.node;
  if (op.name === "transpose") {
    const inner = lateSum(inputs[0], varies);
    const { perm } = params as { readonly perm: readonly number[] };
    return inner && { needs: inner.needs, build: (stackOf) => transpose(inner.build(stackOf), perm) };
  }
  if (op.name === "add") {
    const [a, b] = [lateSum(inputs[0], varies), lateSum(inputs[1], varies)];
    return (
      a &&
      b && { needs: [...a.needs, ...b.needs], build: (stackOf) => add(a.build(stackOf), b.build(stackOf)) }
    );
  }
  if (op.name === "dotGeneral" && varies(inputs[0]) && varies(inputs[1])) {
    const [x, y] = inputs;
    const dims = params as DotDims;
    return { needs: [x, y], build: (stackOf) => dotOverSteps(stackOf(x), stackOf(y), dims) };
  }
  return undefined;
}

/**
 * Late sums of those values that have them. Where a stack is made for one of them, a plain sum over the same stack
 * comes free and is taken late as well.
 */
export function lateSums(
  values: readonly (Value | undefined)[],
  varies: (value: Value) => boolean,
): readonly (LateSum | undefined)[] {
  const products = values.map((value) => value && lateSum(value, varies));
  const stacked = new Set(products.flatMap((sum) => sum?.needs ?? []));
  return values.map((value, i) => products[i] ?? (value && plainSum(value, stacked)));
}

function plainSum(value: Value, stacked: ReadonlySet<Value>): LateSum | undefined {
  if (stacked.has(value)) return { needs: [value], build: (stackOf) => reduceSum(stackOf(value), [0]) };
  const { op, inputs, params } = value.node;
  if (op.name !== "reduceSum" || !stacked.has(inputs[0])) return undefined;
  const { axes } = params as { readonly axes: readonly number[] };
  return {
    needs: [inputs[0]],
    build: (stackOf) => reduceSum(stackOf(inputs[0]), [0, ...axes.map((axis) => axis + 1)]),
  };
}

/** The same product, summed over a leading axis of steps as well. */
function dotOverSteps(x: Value, y: Value, dims: DotDims): Value {
  const { lhsContract, rhsContract, lhsBatch, rhsBatch } = dims;
  // Two leading axes that are both summed over become one: the compiler would copy to bring them together.
  if (lhsBatch.length === 0 && lhsContract.join() === "0" && rhsContract.join() === "0") {
    const merged = (value: Value) =>
      reshape(value, [value.shape.slice(0, 2).reduce((a, b) => a * b, 1), ...value.shape.slice(2)]);
    return dotGeneral(merged(x), merged(y), dims);
  }
  const up = (axes: readonly number[]) => axes.map((axis) => axis + 1);
  return dotGeneral(x, y, {
    lhsContract: [0, ...up(lhsContract)],
    rhsContract: [0, ...up(rhsContract)],
    lhsBatch: up(lhsBatch),
    rhsBatch: up(rhsBatch),
  });
}
