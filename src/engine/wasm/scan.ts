import type { ScanParams } from "../ops/scan.ts";
import type { Jax, JaxArray, WasmRegions } from "../trace/op.ts";
import { type TensorType, tensorType } from "../trace/type.ts";
import type { Node } from "../trace/value.ts";
import { jaxFromRaw, jaxScalar } from "./dtype.ts";

type Raw = ReturnType<JaxArray["dataSync"]>;

/** A scan on the host: the body is compiled once and called for every step; stacks live in JavaScript's memory. */
export function scanOnHost(
  j: Jax,
  inputs: readonly JaxArray[],
  node: Node<ScanParams>,
  regions: WasmRegions,
): readonly JaxArray[] {
  const { body, carries, stacked, counted, length, reverse } = node.params;
  const from = counted ? 1 : 0;
  const step = regions(body);
  const given = counted ? Number((inputs[0] as JaxArray).dataSync()[0]) : (length ?? 0);
  const n = length === undefined ? given : Math.min(given, length);
  let carry = inputs.slice(from, from + carries);
  const xs = inputs.slice(from + carries, from + carries + stacked).map((array) => array.dataSync());
  const xTypes = node.inputs
    .slice(from + carries, from + carries + stacked)
    .map((value) => sliceOf(value.type));
  const captures = inputs.slice(from + carries + stacked);
  const ysTypes = node.outputs.slice(carries).map((output) => output.type);
  const ys: (Raw | undefined)[] = ysTypes.map(() => undefined);
  for (let count = 0; count < n; count++) {
    const index = reverse ? n - 1 - count : count;
    const slices = xs.map((data, k) => {
      const type = xTypes[k] as TensorType;
      return jaxFromRaw(j, data.subarray(index * type.size, (index + 1) * type.size) as Raw, type);
    });
    const results = step([
      jaxScalar(j, index, "i32"),
      ...carry,
      ...slices,
      ...captures.map((array) => array.ref),
    ]);
    carry = results.slice(0, carries);
    results.slice(carries).forEach((result, k) => {
      const { size } = sliceOf(ysTypes[k] as TensorType);
      const data = result.dataSync();
      ys[k] ??= new (data.constructor as new (n: number) => Raw)((ysTypes[k] as TensorType).size);
      ys[k]?.set(data as never, index * size);
    });
    // Without a read jax-js's list of work to do would grow with every step.
    if (ysTypes.length === 0) smallest(carry)?.ref.dataSync();
  }
  for (const array of captures) array.dispose();
  const stacks = ysTypes.map((type, k) => {
    const data = ys[k];
    return data
      ? jaxFromRaw(j, data, type)
      : j.numpy.broadcastTo(jaxScalar(j, 0, type.dtype), [...type.shape]);
  });
  return [...carry, ...stacks];
}

const sliceOf = (type: TensorType): TensorType => tensorType(type.dtype, type.shape.slice(1));

function smallest(arrays: readonly JaxArray[]): JaxArray | undefined {
  return arrays.reduce<JaxArray | undefined>(
    (best, array) => (!best || array.size < best.size ? array : best),
    undefined,
  );
}
