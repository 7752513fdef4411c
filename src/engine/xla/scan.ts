import type { ScanParams } from "../ops/scan.ts";
import { type TensorType, tensorType } from "../trace/type.ts";
import type { Node } from "../trace/value.ts";
import { isSingle, isSmallLoop } from "./flags.ts";
import { type HloWriter, hloType } from "./writer.ts";

const i32 = "tensor<i32>";

/**
 * A scan is one `while`: index, trip count, carry, stacked results, then what the loop only reads.
 * With a run-time trip count the same program serves every count.
 */
export function writeScan(
  w: HloWriter,
  inputs: readonly string[],
  node: Node<ScanParams>,
): readonly string[] {
  const { body, carries, stacked, counted, length, reverse } = node.params;
  const from = counted ? 1 : 0;
  const types = node.inputs.map((input) => input.type);
  const carryNames = inputs.slice(from, from + carries);
  const readNames = inputs.slice(from + carries);
  const readTypes = types.slice(from + carries);
  const ysTypes = node.outputs.slice(carries).map((output) => output.type);
  const ysNames = ysTypes.map((type) => w.splat(0, type));
  // No step can run, and stacks without slices cannot be sliced.
  if (length === 0) return [...carryNames, ...ysNames];
  const zero = w.scalar(0, "i32");
  if (isSingle(node)) return writeStep(w, inputs, node, zero);
  const count = counted ? (inputs[0] as string) : w.scalar(length ?? 0, "i32");
  const starts = [zero, count, ...carryNames, ...ysNames, ...readNames];
  const all = [
    i32,
    i32,
    ...types.slice(from, from + carries).map(hloType),
    ...ysTypes.map(hloType),
    ...readTypes.map(hloType),
  ];
  const names = starts.map(() => w.fresh("s"));
  const [at, n] = names as [string, string];
  const carry = names.slice(2, 2 + carries);
  const ys = names.slice(2 + carries, 2 + carries + ysTypes.length);
  const reads = names.slice(2 + carries + ysTypes.length);

  const test = w.nested();
  const limit = counted ? n : test.scalar(length ?? 0, "i32");
  const more = test.put(`stablehlo.compare LT, ${at}, ${limit}, SIGNED : (${i32}, ${i32}) -> tensor<i1>`);
  test.line(`stablehlo.return ${more} : tensor<i1>`);

  const step = w.nested();
  const one = step.scalar(1, "i32");
  const index = reverse
    ? step.put(`stablehlo.subtract ${step.put(`stablehlo.subtract ${n}, ${one} : ${i32}`)}, ${at} : ${i32}`)
    : at;
  const none = step.scalar(0, "i32");
  const slices = reads
    .slice(0, stacked)
    .map((name, i) => readSlice(step, name, readTypes[i] as TensorType, index, none));
  const region = step.region(body, [index, ...carry, ...slices, ...reads.slice(stacked)]);
  step.lines.push(...region.lines);
  const nextCarry = region.results.slice(0, carries);
  const nextYs = ysTypes.map((type, i) =>
    writeSlice(step, ys[i] as string, type, region.results[carries + i] as string, index, none),
  );
  const next = step.put(`stablehlo.add ${at}, ${one} : ${i32}`);
  step.line(
    `stablehlo.return ${[next, n, ...nextCarry, ...nextYs, ...reads].join(", ")} : ${all.join(", ")}`,
  );

  const loop = (from: readonly string[]): string =>
    [
      `stablehlo.while(${names.map((name, i) => `${name} = ${from[i]}`).join(", ")}) : ${all.join(", ")}`,
      "    cond {",
      ...test.lines,
      "    } do {",
      ...step.lines,
      "    }",
    ].join("\n");
  const results =
    w.smallLoops && isSmallLoop(node) ? w.putSmall(starts, all, loop) : w.putMany(all.length, loop(starts));
  return results.slice(2, 2 + carries + ysTypes.length);
}

/** A loop of one step is that step. */
function writeStep(
  w: HloWriter,
  inputs: readonly string[],
  node: Node<ScanParams>,
  zero: string,
): readonly string[] {
  const { body, carries, stacked } = node.params;
  const reads = inputs.slice(carries);
  const slices = reads
    .slice(0, stacked)
    .map((name, i) => unstacked(w, name, node.inputs[carries + i]?.type as TensorType));
  const region = w.region(body, [zero, ...inputs.slice(0, carries), ...slices, ...reads.slice(stacked)]);
  w.lines.push(...region.lines);
  const ys = node.outputs.slice(carries).map(({ type }, i) => {
    const one = tensorType(type.dtype, type.shape.slice(1));
    return w.put(`stablehlo.reshape ${region.results[carries + i]} : (${hloType(one)}) -> ${hloType(type)}`);
  });
  return [...region.results.slice(0, carries), ...ys];
}

/** A stack of one slice as that slice. */
function unstacked(w: HloWriter, name: string, type: TensorType): string {
  const less = tensorType(type.dtype, type.shape.slice(1));
  return w.put(`stablehlo.reshape ${name} : (${hloType(type)}) -> ${hloType(less)}`);
}

function readSlice(w: HloWriter, stack: string, type: TensorType, index: string, zero: string): string {
  const one = tensorType(type.dtype, [1, ...type.shape.slice(1)]);
  const starts = [index, ...type.shape.slice(1).map(() => zero)];
  const slice = w.put(
    `stablehlo.dynamic_slice ${stack}, ${starts.join(", ")}, sizes = [${one.shape.join(", ")}] : (${[hloType(type), ...starts.map(() => i32)].join(", ")}) -> ${hloType(one)}`,
  );
  return unstacked(w, slice, one);
}

function writeSlice(
  w: HloWriter,
  stack: string,
  type: TensorType,
  value: string,
  index: string,
  zero: string,
): string {
  const one = tensorType(type.dtype, [1, ...type.shape.slice(1)]);
  const starts = [index, ...type.shape.slice(1).map(() => zero)];
  const row = w.put(
    `stablehlo.reshape ${value} : (${hloType(tensorType(type.dtype, type.shape.slice(1)))}) -> ${hloType(one)}`,
  );
  return w.put(
    `stablehlo.dynamic_update_slice ${stack}, ${row}, ${starts.join(", ")} : (${[hloType(type), hloType(one), ...starts.map(() => i32)].join(", ")}) -> ${hloType(type)}`,
  );
}
