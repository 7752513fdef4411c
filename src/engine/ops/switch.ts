import { batchRegion } from "../trace/batch.ts";
import { differentiate } from "../trace/differentiate.ts";
import { isFloat } from "../trace/dtype.ts";
import {
  type Batched,
  defineOp,
  type Jax,
  type JaxArray,
  type Op,
  type Several,
  type WasmRegions,
} from "../trace/op.ts";
import { inline, type Region, traceRegions } from "../trace/region.ts";
import { emit, type Node, type Value } from "../trace/value.ts";
import { type HloWriter, hloType } from "../xla/writer.ts";
import { splat, zerosLike } from "./constant.ts";
import { add, equal, identity, max, min, select } from "./elementwise.ts";
import { batchedValue } from "./rules.ts";
import { broadcastInDim } from "./shape.ts";

/** One of several branches by an index. Inputs: the index (i32), then what all branches capture. */
interface SwitchParams {
  readonly branches: readonly Region[];
}

const switchOp: Op<SwitchParams> = defineOp<SwitchParams>({
  name: "switch",
  type: (_inputs, { branches }) => (branches[0] as Region).outputs.map((output) => output.type),
  derivative: switchDerivative,
  batch: batchSwitch,
  stablehlo: writeSwitch,
  wasm: { onHost: switchOnHost },
});

/** Traces the branches and emits the choice; an index out of range takes the nearest branch. */
export function emitSwitch(index: Value, branches: readonly (() => readonly Value[])[]): readonly Value[] {
  const regions = traceRegions(
    branches.map((branch) => [[], branch] as const),
    true,
  );
  const last = splat(branches.length - 1, "i32");
  const clamped = max(min(index, last), splat(0, "i32"));
  return emit(switchOp, [clamped, ...(regions[0] as Region).captures], { branches: regions });
}

/** The gradient of a choice is a choice: the branch taken is run again to find its way back. */
function switchDerivative(
  { inputs, outputs, params }: Node<SwitchParams>,
  cotangents: readonly (Value | undefined)[],
  needed: readonly boolean[],
): readonly (Value | undefined)[] {
  const [index, ...captures] = inputs;
  const wanted = captures.map((value, i) => needed[i + 1] === true && isFloat(value.dtype));
  const given = outputs.map((output, i) =>
    isFloat(output.dtype) ? (cotangents[i] ?? zerosLike(output)) : undefined,
  );
  const grads = emitSwitch(
    index,
    params.branches.map((branch) => () => {
      const variables = captures.map((value, i) => (wanted[i] ? identity(value) : value));
      const results = inline(branch, variables);
      const by = variables.filter((_, i) => wanted[i]);
      return differentiate(results, given, by, add).map((ct, i) => ct ?? zerosLike(by[i] as Value));
    }),
  );
  const queue = [...grads];
  return [undefined, ...wanted.map((want) => (want ? queue.shift() : undefined))];
}

function batchSwitch(
  [index, ...captures]: Several<Batched>,
  { branches }: SwitchParams,
  size: number,
): readonly Value[] {
  const run = (branch: Region) =>
    batchRegion(branch, captures, size).map((result) => batchedValue(result, size));
  if (!index.batched)
    return emitSwitch(
      index.value,
      branches.map((branch) => () => run(branch)),
    );
  // Examples take different branches: run all of them and choose for each example.
  const [first, ...others] = branches.map(run) as [Value[], ...Value[][]];
  return others.reduce((chosen, results, k) => {
    const here = equal(index.value, splat(k + 1, "i32", [size]));
    return results.map((value, i) =>
      select(broadcastInDim(here, value.shape, [0]), value, chosen[i] as Value),
    );
  }, first);
}

function writeSwitch(
  w: HloWriter,
  [index, ...captures]: readonly string[],
  node: Node<SwitchParams>,
): readonly string[] {
  const types = node.outputs.map((output) => hloType(output.type)).join(", ");
  const bodies = node.params.branches.map((branch) => {
    const { lines, results } = w.region(branch, captures);
    return ["{", ...lines, `        stablehlo.return ${results.join(", ")} : ${types}`, "    }"].join("\n");
  });
  return w.putMany(
    node.outputs.length,
    `"stablehlo.case"(${index}) (${bodies.join(", ")}) : (tensor<i32>) -> (${types})`,
  );
}

function switchOnHost(
  _j: Jax,
  [index, ...captures]: Several<JaxArray>,
  node: Node<SwitchParams>,
  regions: WasmRegions,
): readonly JaxArray[] {
  const taken = node.params.branches[Number(index.dataSync()[0])] as Region;
  return regions(taken)(captures);
}
