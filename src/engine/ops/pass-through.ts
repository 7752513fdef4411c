import { defineOp, lacking, type Op } from "../trace/op.ts";
import { emit1, type Value } from "../trace/value.ts";
import { hloSharding, hloType } from "../xla/writer.ts";
import { type None, none } from "./elementwise-rows.ts";

const stopOp: Op<None> = defineOp<None>({
  name: "stopGradient",
  type: ([x]) => [x],
  derivative: lacking("it stands for a constant"),
  batch: ([x]) => [emit1(stopOp, [x.value], none)],
  stablehlo: (_w, [x]) => [x],
  wasm: (_j, [x]) => [x],
});

/** The same value, which counts as a constant for derivatives. */
export const stopGradient = (x: Value): Value => emit1(stopOp, [x], none);

const identityOp: Op<None> = defineOp<None>({
  name: "identity",
  type: ([x]) => [x],
  derivative: (_node, [ct]) => [ct],
  batch: ([x]) => [emit1(identityOp, [x.value], none)],
  stablehlo: (_w, [x]) => [x],
  wasm: (_j, [x]) => [x],
  unique: true,
});

/** The same value under a name of its own, so that a derivative can be taken by this use alone. */
export const identity = (x: Value): Value => emit1(identityOp, [x], none);

const shardOp: Op<{ readonly axis: number | null }> = defineOp<{ readonly axis: number | null }>({
  name: "shard",
  cheap: true,
  type: ([x]) => [x],
  derivative: ({ params }, [ct]) => [ct && shard(ct, params.axis)],
  batch: ([x], { axis }) => [shard(x.value, axis === null ? null : axis + 1)],
  stablehlo: (w, [x], { inputs, params }) => {
    if (!w.mesh) return [x];
    const { type } = inputs[0];
    return [w.put(`sdy.sharding_constraint ${x} ${hloSharding(type, params.axis)} : ${hloType(type)}`)];
  },
  wasm: (_j, [x]) => [x],
});

/**
 * The same value, of which each device of a mesh has an equal part along an axis, and computes with that part alone
 * where it can; with `null` each has all of it. On one device it says nothing.
 */
export const shard = (x: Value, axis: number | null): Value => emit1(shardOp, [x], { axis });

/** The axis along which the result of a program is sharded: that of `shard`, where it comes from there. */
export const shardedAxis = ({ node }: Value): number | undefined =>
  node.op === (shardOp as Op)
    ? ((node.params as { readonly axis: number | null }).axis ?? undefined)
    : undefined;
