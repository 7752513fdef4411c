import { Value } from "../trace/value.ts";
import * as arithmetic from "./arithmetic.ts";
import { at } from "./at.ts";
import * as comparison from "./comparison.ts";
import { astype } from "./conversion.ts";
import * as elementary from "./elementary.ts";
import { slice, take } from "./indexing.ts";
import { dot, matmul } from "./product.ts";
import * as reduction from "./reduction.ts";
import { clip } from "./rounding.ts";
import { expandDims, ravel, reshape, squeeze, transpose } from "./shape.ts";

/** Numbers one by one, or all in one list. */
type Listed = readonly number[] | readonly [readonly number[]];

/** Each method as a function of the value it is called on. */
const functions = {
  add: arithmetic.add,
  sub: arithmetic.subtract,
  mul: arithmetic.multiply,
  div: arithmetic.divide,
  pow: elementary.power,
  neg: arithmetic.negative,
  matmul,
  /** Short for `matmul`. */
  mm: matmul,
  dot,
  sum: reduction.sum,
  mean: reduction.mean,
  prod: reduction.prod,
  max: reduction.max,
  min: reduction.min,
  var: reduction.var,
  std: reduction.std,
  argmax: reduction.argmax,
  argmin: reduction.argmin,
  reshape: (x: Value, ...shape: Listed): Value => reshape(x, shape.flat()),
  transpose: (x: Value, ...axes: Listed): Value => transpose(x, axes.length === 0 ? undefined : axes.flat()),
  ravel,
  flatten: ravel,
  squeeze,
  expandDims,
  astype,
  exp: elementary.exp,
  log: elementary.log,
  sqrt: elementary.sqrt,
  square: arithmetic.square,
  abs: arithmetic.absolute,
  tanh: elementary.tanh,
  sin: elementary.sin,
  cos: elementary.cos,
  clip,
  greater: comparison.greater,
  greaterEqual: comparison.greaterEqual,
  less: comparison.less,
  lessEqual: comparison.lessEqual,
  equal: comparison.equal,
  notEqual: comparison.notEqual,
  slice,
  at,
  take,
} as const;

type Rest<Args extends readonly unknown[]> = Args extends readonly [unknown, ...infer Rest] ? Rest : never;
type Method<F> = F extends (...args: infer Args) => infer Result ? (...rest: Rest<Args>) => Result : never;

/** Functions of `np` as methods of values: `x.mul(2).sum({ axis: 0 })`. Each is the function of the same meaning. */
export type ValueMethods = { readonly [K in keyof typeof functions]: Method<(typeof functions)[K]> } & {
  /** The axes in reverse order. */
  readonly T: Value;
};

/**
 * Gives values their methods. Called by everything that starts a trace, because values are made in traces alone, and
 * because a call on import would be dropped by bundlers: the package promises that its modules have no side effects.
 */
export function installMethods(): void {
  if (Object.hasOwn(Value.prototype, "T")) return;
  for (const [name, f] of Object.entries(functions)) {
    const apply = f as (x: Value, ...rest: unknown[]) => unknown;
    Object.defineProperty(Value.prototype, name, {
      configurable: true,
      writable: true,
      value: function (this: Value, ...rest: unknown[]) {
        return apply(this, ...rest);
      },
    });
  }
  Object.defineProperty(Value.prototype, "T", {
    configurable: true,
    get(this: Value) {
      return transpose(this);
    },
  });
}
