import type { Node } from "../trace/value.ts";

/** Multiply-adds of one node: 0 where it is no product. */
export function multiplyAdds({ op, inputs, outputs, params }: Node): number {
  if (op.name === "dotGeneral") {
    const { lhsContract } = params as { readonly lhsContract: readonly number[] };
    return lhsContract.reduce((product, axis) => product * (inputs[0].shape[axis] ?? 1), outputs[0].size);
  }
  if (op.name === "convolution") return outputs[0].size * inputs[1].size;
  return 0;
}
