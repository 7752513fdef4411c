import { type DType, isFloat } from "../trace/dtype.ts";
import { defineOp, type Op } from "../trace/op.ts";
import { type Shape, tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { jaxName, jaxScalar, wrapU8 } from "../wasm/dtype.ts";
import { hloType, literal } from "../xla/writer.ts";
import { broadcastInDim } from "./shape.ts";

interface ConstantParams {
  readonly dtype: DType;
  readonly shape: Shape;
  /** One number for all elements, or all elements in order. */
  readonly data: number | readonly number[];
}

const constantOp: Op<ConstantParams> = defineOp<ConstantParams>({
  name: "constant",
  cheap: true,
  type: (_inputs, { dtype, shape }) => [tensorType(dtype, shape)],
  derivative: () => [],
  batch: (_inputs, params, size) => [broadcastLeading(emit1(constantOp, [], params), size)],
  stablehlo: (w, _inputs, { params, outputs }) => {
    const { data, dtype, shape } = params;
    if (typeof data === "number") return [w.splat(data, outputs[0].type)];
    const text = data.length === 0 ? "" : nestedText(data, shape, dtype);
    return [w.put(`stablehlo.constant dense<${text}> : ${hloType(outputs[0].type)}`)];
  },
  wasm: (j, _inputs, { params }) => {
    const { data, dtype, shape } = params;
    // A repeated scalar becomes part of the kernel; `full` would be an array that it reads.
    if (typeof data === "number") return [j.numpy.broadcastTo(jaxScalar(j, data, dtype), [...shape])];
    if (dtype === "bool")
      return [j.numpy.array(Int32Array.from(data), { shape: [...shape], dtype: jaxName("i32") }).notEqual(0)];
    const typed = isFloat(dtype)
      ? dtype === "f64"
        ? Float64Array.from(data)
        : Float32Array.from(data)
      : dtype === "i32"
        ? Int32Array.from(data)
        : Uint32Array.from(data);
    return [j.numpy.array(typed, { shape: [...shape], dtype: jaxName(dtype) })];
  },
});

function broadcastLeading(x: Value, size: number): Value {
  return broadcastInDim(
    x,
    [size, ...x.shape],
    x.shape.map((_, i) => i + 1),
  );
}

function nestedText(data: readonly number[], shape: Shape, dtype: DType): string {
  let next = 0;
  const write = (axis: number): string => {
    if (axis === shape.length) return literal(data[next++] as number, dtype);
    return `[${Array.from({ length: shape[axis] as number }, () => write(axis + 1)).join(", ")}]`;
  };
  return write(0);
}

/** A value whose elements are all the same number. */
export const splat = (data: number, dtype: DType, shape: Shape = []): Value =>
  emit1(constantOp, [], { dtype, shape, data });

/** A value whose elements are written into the program. */
export const literalArray = (data: readonly number[], dtype: DType, shape: Shape): Value =>
  emit1(constantOp, [], { dtype, shape, data });

export const zerosLike = (x: Value): Value => splat(0, x.dtype, x.shape);

interface IotaParams {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly axis: number;
}

const iotaOp: Op<IotaParams> = defineOp<IotaParams>({
  name: "iota",
  cheap: true,
  type: (_inputs, { dtype, shape }) => [tensorType(dtype, shape)],
  derivative: () => [],
  batch: (_inputs, params, size) => [broadcastLeading(emit1(iotaOp, [], params), size)],
  stablehlo: (w, _inputs, { params, outputs }) => [
    w.put(`stablehlo.iota dim = ${params.axis} : ${hloType(outputs[0].type)}`),
  ],
  wasm: (j, _inputs, { params }) => {
    const { dtype, shape, axis } = params;
    const n = shape[axis] as number;
    const count = j.numpy.arange(0, n, 1, { dtype: jaxName(isFloat(dtype) ? dtype : "i32") });
    const typed = dtype === "i32" || isFloat(dtype) ? count : wrapU8(j, count.astype(jaxName(dtype)), dtype);
    const placed = typed.reshape(shape.map((_, i) => (i === axis ? n : 1)));
    return [j.numpy.broadcastTo(placed, [...shape])];
  },
});

/** Counts 0, 1, 2, ... along an axis. */
export const iota = (dtype: DType, shape: Shape, axis = 0): Value =>
  emit1(iotaOp, [], { dtype, shape, axis });
