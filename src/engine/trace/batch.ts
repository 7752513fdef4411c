import { userError } from "./location.ts";
import { type Batched, isLacking } from "./op.ts";
import { type Region, rewrite } from "./region.ts";
import { emit, type Value } from "./value.ts";

/** Applies a region to values of which some carry a mapped axis of length `size` in front. */
export function batchRegion(region: Region, actuals: readonly Batched[], size: number): Batched[] {
  const known = new Map<Value, Batched>();
  [...region.params, ...region.captures].forEach((formal, i) => {
    known.set(formal, actuals[i] as Batched);
  });
  return rewrite(region.outputs, known, (node, inputs) => {
    if (inputs.some((input) => input.batched)) {
      const rule = node.op.batch;
      if (isLacking(rule))
        throw userError(
          "NO_BATCHING",
          `vmap: ${node.op.name} cannot be mapped: ${rule.lacking}`,
          "write the axis out by hand",
        );
      return rule(inputs, node.params, size).map((value) => ({ value, batched: true }));
    }
    const unchanged = !node.scope.closed && inputs.every((input, i) => input.value === node.inputs[i]);
    const outputs = unchanged
      ? node.outputs
      : emit(
          node.op,
          inputs.map((input) => input.value),
          node.params,
        );
    return outputs.map((value) => ({ value, batched: false }));
  });
}
