import { type ScanParams, scanParts, sliceType } from "../ops/scan.ts";
import type { Jax, JaxArray, WasmRegions } from "../trace/op.ts";
import type { TensorType } from "../trace/type.ts";
import type { Node } from "../trace/value.ts";
import { jaxEmpty, jaxFromRaw, jaxScalar } from "./dtype.ts";

type Raw = ReturnType<JaxArray["dataSync"]>;

/** A scan on the host: the body is compiled once and called for every step; stacks live in JavaScript's memory. */
export function scanOnHost(
  j: Jax,
  inputs: readonly JaxArray[],
  node: Node<ScanParams>,
  regions: WasmRegions,
): readonly JaxArray[] {
  const { body, carries, length, reverse } = node.params;
  const { count, init, xs: stacks, captures } = scanParts(inputs, node.params);
  const step = regions(body);
  const given = count ? Number(count.dataSync()[0]) : (length ?? 0);
  const n = length === undefined ? given : Math.min(given, length);
  let carry: readonly JaxArray[] = init;
  const xs = stacks.map((array) => array.dataSync());
  const xTypes = scanParts(node.inputs, node.params).xs.map((value) => sliceType(value.type));
  const ysTypes = node.outputs.slice(carries).map((output) => output.type);
  const ys: (Raw | undefined)[] = ysTypes.map(() => undefined);
  for (let done = 0; done < n; done++) {
    const index = reverse ? n - 1 - done : done;
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
      const { size } = sliceType(ysTypes[k] as TensorType);
      const data = result.dataSync();
      ys[k] ??= new (data.constructor as new (n: number) => Raw)((ysTypes[k] as TensorType).size);
      ys[k]?.set(data as never, index * size);
    });
    // Without a read jax-js's list of work to do would grow with every step.
    if (ysTypes.length === 0) smallest(carry)?.ref.dataSync();
  }
  for (const array of captures) array.dispose();
  const results = ysTypes.map((type, k) => {
    const data = ys[k];
    return data ? jaxFromRaw(j, data, type) : jaxEmpty(j, type);
  });
  return [...carry, ...results];
}

function smallest(arrays: readonly JaxArray[]): JaxArray | undefined {
  return arrays.reduce<JaxArray | undefined>(
    (best, array) => (!best || array.size < best.size ? array : best),
    undefined,
  );
}
