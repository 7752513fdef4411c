import { flatten, unflatten } from "../../core/index.ts";
import { installMethods } from "../np/methods.ts";
import { asValue } from "../np/operands.ts";
import type { DType } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { type Shape, type TensorType, tensorType } from "../trace/type.ts";
import { placeholder, type Value, withTrace } from "../trace/value.ts";
import { leafType } from "./trace-call.ts";

/** Shape and element type of a value that need not exist: what a model is told about its input. */
export class Spec {
  readonly type: TensorType;

  constructor(type: TensorType) {
    this.type = type;
  }
  get shape(): Shape {
    return this.type.shape;
  }
  get dtype(): DType {
    return this.type.dtype;
  }
  toString(): string {
    return this.type.text;
  }
}

/**
 * Describes a value without making it.
 *
 * @example
 * ```ts
 * const images = spec([32, 28, 28, 1]);
 * ```
 */
export function spec(shape: Shape, dtype: DType = "f32"): Spec {
  if (!shape.every((n) => Number.isInteger(n) && n >= 0))
    throw userError(
      "SHAPE_INVALID",
      `spec: [${shape.join(", ")}] is not a shape`,
      "use whole numbers from 0 on",
    );
  return new Spec(tensorType(dtype, shape));
}

/** A tree of values as a tree of their specs. */
export type Specs<T> = T extends Value ? Spec : T extends object ? { [K in keyof T]: Specs<T[K]> } : T;

/**
 * Shapes and element types of a function's results, found by tracing it; nothing is compiled and nothing runs.
 * Arguments are trees of specs, tensors, numbers and typed arrays.
 *
 * @example
 * ```ts
 * evalShape((x: Value, w: Value) => np.matmul(x, w), spec([8, 4]), spec([4, 2])).shape; // [8, 2]
 * ```
 */
export function evalShape<R>(fn: (...args: never[]) => R, ...args: readonly unknown[]): Specs<R> {
  const leaves: unknown[] = [];
  const shape = flatten(args, leaves);
  installMethods();
  return withTrace(
    () => undefined,
    (trace) => {
      const inputs = leaves.map((leaf) => {
        const type = leaf instanceof Spec ? leaf.type : leafType(leaf, trace);
        if (!type)
          throw userError(
            "ARGUMENT_INVALID",
            `evalShape: ${String(leaf)} describes no value`,
            "pass spec(shape, dtype), tensors or numbers",
          );
        return placeholder(type, trace.root);
      });
      const results: unknown[] = [];
      const resultShape = flatten(fn(...(unflatten(shape, inputs) as never[])), results);
      return unflatten(
        resultShape,
        results.map((result) => new Spec(asValue(result).type)),
      ) as Specs<R>;
    },
  );
}
