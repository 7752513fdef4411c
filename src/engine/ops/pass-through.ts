import { defineOp, lacking, type Op } from "../trace/op.ts";
import { emit1, type Value } from "../trace/value.ts";
import { hloSharding, hloType } from "../xla/writer.ts";
import { type None, none } from "./elementwise-rows.ts";

/** A row that gives the value as it is, with what makes it differ from others of its kind. */
export function passThrough(
  name: string,
  row: Pick<Op<None>, "derivative"> & Partial<Pick<Op<None>, "stablehlo" | "unique">>,
): (x: Value) => Value {
  const op: Op<None> = defineOp<None>({
    name,
    type: ([x]) => [x],
    batch: ([x]) => [emit1(op, [x.value], none)],
    stablehlo: (_w, [x]) => [x],
    wasm: (_j, [x]) => [x],
    ...row,
  });
  return (x) => emit1(op, [x], none);
}

/** The same value, which counts as a constant for derivatives. */
export const stopGradient = passThrough("stopGradient", { derivative: lacking("it stands for a constant") });

/** The same value under a name of its own, so that a derivative can be taken by this use alone. */
export const identity = passThrough("identity", { derivative: (_node, [ct]) => [ct], unique: true });

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
