import { type DType, isFloat } from "../trace/dtype.ts";
import { defineOp, lacking } from "../trace/op.ts";
import { tensorType } from "../trace/type.ts";
import { emit1, type Value } from "../trace/value.ts";
import { jaxName, jaxScalar, wrapU8 } from "../wasm/dtype.ts";

const convertOp = defineOp<{ readonly dtype: DType }>({
  name: "convert",
  cheap: true,
  type: ([x], { dtype }) => [tensorType(dtype, x.shape)],
  derivative: ({ inputs }, [ct]) => [ct && convert(ct, inputs[0].dtype)],
  batch: ([x], { dtype }) => [convert(x.value, dtype)],
  stablehlo: (w, [x], { inputs, outputs }) =>
    outputs[0].dtype === "bool"
      ? [w.compare("NE", x, w.splat(0, inputs[0].type), inputs[0])]
      : [w.apply("convert", [x], inputs, outputs[0])],
  wasm: (j, [x], { inputs, params }) => {
    const from = inputs[0].dtype;
    if (params.dtype === "bool") return [x.notEqual(jaxScalar(j, 0, from))];
    // What does not fit becomes the nearest number that does; u8 is held in 32 bits, which would hold more.
    const held = params.dtype === "u8" && isFloat(from) ? j.numpy.minimum(x, jaxScalar(j, 255, from)) : x;
    const converted = held.astype(jaxName(params.dtype));
    return [from === "bool" ? converted : wrapU8(j, converted, params.dtype)];
  },
});

/**
 * Converts element types. Floats to integers: cut towards zero, what does not fit to the nearest that does, NaN to 0.
 * Integers to integers: the lowest bits.
 */
export const convert = (x: Value, dtype: DType): Value =>
  x.dtype === dtype ? x : emit1(convertOp, [x], { dtype });

const bitcastOp = defineOp<{ readonly dtype: DType }>({
  name: "bitcast",
  type: ([x], { dtype }) => [tensorType(dtype, x.shape)],
  derivative: lacking("bits have no derivative"),
  batch: ([x], { dtype }) => [bitcast(x.value, dtype)],
  stablehlo: (w, names, { inputs, outputs }) => [w.apply("bitcast_convert", names, inputs, outputs[0])],
  wasm: (j, [x], { params }) => [j.lax.bitcastConvertType(x, jaxName(params.dtype))],
});

/** Reads the same 32 bits as another type. */
export const bitcast = (x: Value, dtype: DType): Value => emit1(bitcastOp, [x], { dtype });
