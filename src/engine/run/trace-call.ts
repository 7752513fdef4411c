import type { TreeShape } from "../../core/index.ts";
import { EspalierError, flatten, leafPaths, unflatten } from "../../core/index.ts";
import { installMethods } from "../np/methods.ts";
import { asValue } from "../np/value.ts";
import { userError } from "../trace/location.ts";
import type { Program } from "../trace/program.ts";
import { programOf } from "../trace/program.ts";
import type { TensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { placeholder, withTrace } from "../trace/value.ts";
import { argumentName, badLeaf, describe } from "./arguments.ts";
import type { Backend } from "./backend.ts";
import { leafType } from "./feed.ts";
import type { Tensor } from "./tensor.ts";

/** A function traced for arguments of certain shapes and types. */
export interface TracedCall {
  /** Structure of the arguments that are not static. */
  readonly shape: TreeShape;
  readonly types: readonly TensorType[];
  readonly outputShape: TreeShape;
  readonly program: Program;
  /** Tensors the function uses beside its arguments; the program's last inputs. */
  readonly captured: readonly Tensor[];
}

/** Calls `fn` with values in place of the tensors among `args` and notes what it computes. */
export function traceCall(request: {
  readonly fn: (...args: never[]) => unknown;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly statics: readonly number[];
  readonly backend: Backend;
}): TracedCall {
  const { fn, name, args, statics, backend } = request;
  const leaves: unknown[] = [];
  const shape = flatten(
    args.filter((_, i) => !statics.includes(i)),
    leaves,
  );
  const paths = leafPaths(shape);
  const types = leaves.map((leaf, i) => {
    const argument = () => argumentName(name, paths[i] as string, args, statics);
    const type = leafType(leaf, backend) ?? badLeaf(argument(), leaf);
    const reason = backend.lacks(type.dtype);
    if (reason)
      throw userError(
        "DTYPE_UNSUPPORTED",
        `${argument()} is ${type.text}: ${reason}`,
        'convert it: put(data, { dtype: "f32" })',
      );
    return type;
  });
  installMethods();
  return withTrace(
    (dtype) => backend.lacks(dtype),
    (trace) => {
      const inputs = types.map((type) => placeholder(type, trace.root));
      const rebuilt = [...(unflatten(shape, inputs) as unknown[])];
      const given = args.map((arg, i) => (statics.includes(i) ? arg : rebuilt.shift()));
      const result = fn(...(given as never[]));
      if (result instanceof Promise)
        throw userError(
          "ASYNC_TRACE",
          `${name} returned a promise`,
          "trace a synchronous function; await outside compile",
        );
      const { outputShape, outputs } = outputsOf(name, result);
      const captured = [...trace.captured] as [Tensor, Value][];
      const program = programOf([...inputs, ...captured.map(([, value]) => value)], outputs);
      return { shape, types, outputShape, program, captured: captured.map(([tensor]) => tensor) };
    },
  );
}

function outputsOf(
  name: string,
  result: unknown,
): { readonly outputShape: TreeShape; readonly outputs: readonly Value[] } {
  const leaves: unknown[] = [];
  const outputShape = flatten(result, leaves);
  const outputs = leaves.map((leaf, i) => {
    try {
      return asValue(leaf);
    } catch (cause) {
      const path = leafPaths(outputShape)[i];
      throw new EspalierError("RESULT_INVALID", `${name}: its result at "${path}" is ${describe(leaf)}`, {
        fix: "return traced values, numbers, and arrays and plain objects of them",
        cause,
      });
    }
  });
  return { outputShape, outputs };
}
