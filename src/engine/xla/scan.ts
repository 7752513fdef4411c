import { type ScanParams, scanParts, sliceType } from "../ops/scan.ts";
import { shapeText, type TensorType, tensorType } from "../trace/type.ts";
import type { Node } from "../trace/value.ts";
import { isSingle, isSmallLoop } from "./flags.ts";
import { type HloWriter, hloType } from "./writer.ts";

const index32 = tensorType("i32", []);

/**
 * A scan is one `while`: index, trip count, carry, stacked results, then what the loop only reads.
 * With a run-time trip count the same program serves every count.
 */
export function writeScan(
  w: HloWriter,
  inputs: readonly string[],
  node: Node<ScanParams>,
): readonly string[] {
  const { body, carries, stacked, length, reverse } = node.params;
  const names = scanParts(inputs, node.params);
  const values = scanParts(node.inputs, node.params);
  const readTypes = [...values.xs, ...values.captures].map(({ type }) => type);
  const ysTypes = node.outputs.slice(carries).map((output) => output.type);
  const ysNames = ysTypes.map((type) => w.splat(0, type));
  // No step can run, and stacks without slices cannot be sliced.
  if (length === 0) return [...names.init, ...ysNames];
  const zero = w.scalar(0, "i32");
  if (isSingle(node)) return writeStep(w, inputs, node, zero);
  const count = names.count ?? w.scalar(length ?? 0, "i32");
  const starts = [zero, count, ...names.init, ...ysNames, ...names.xs, ...names.captures];
  const carryTypes = values.init.map(({ type }) => type);
  const all = [index32, index32, ...carryTypes, ...ysTypes, ...readTypes].map(hloType);
  const inside = starts.map(() => w.fresh("s"));
  const [at, n] = inside as [string, string];
  const carry = inside.slice(2, 2 + carries);
  const ys = inside.slice(2 + carries, 2 + carries + ysTypes.length);
  const reads = inside.slice(2 + carries + ysTypes.length);

  const test = w.nested();
  const limit = names.count ? n : test.scalar(length ?? 0, "i32");
  const more = test.compare("LT", at, limit, index32);
  test.line(`stablehlo.return ${more} : tensor<i1>`);

  const step = w.nested();
  const one = step.scalar(1, "i32");
  const index = reverse ? step.each("subtract", [step.each("subtract", [n, one], index32), at], index32) : at;
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
  const next = step.each("add", [at, one], index32);
  step.line(
    `stablehlo.return ${[next, n, ...nextCarry, ...nextYs, ...reads].join(", ")} : ${all.join(", ")}`,
  );

  const loop = (from: readonly string[]): string =>
    [
      `stablehlo.while(${inside.map((name, i) => `${name} = ${from[i]}`).join(", ")}) : ${all.join(", ")}`,
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
  const ys = node.outputs
    .slice(carries)
    .map(({ type }, i) =>
      w.apply("reshape", [region.results[carries + i] as string], [sliceType(type)], type),
    );
  return [...region.results.slice(0, carries), ...ys];
}

/** A stack of one slice as that slice. */
const unstacked = (w: HloWriter, name: string, type: TensorType): string =>
  w.apply("reshape", [name], [type], sliceType(type));

/** The type of a stack with one slice, and where a slice of a stack begins. */
const oneOf = ({ dtype, shape }: TensorType): TensorType => tensorType(dtype, [1, ...shape.slice(1)]);
const startsOf = ({ shape }: TensorType, index: string, zero: string): readonly string[] =>
  shape.map((_, axis) => (axis === 0 ? index : zero));

function readSlice(w: HloWriter, stack: string, type: TensorType, index: string, zero: string): string {
  const one = oneOf(type);
  const types = [type, ...type.shape.map(() => index32)];
  const sizes = `, sizes = ${shapeText(one.shape)}`;
  return unstacked(
    w,
    w.apply("dynamic_slice", [stack, ...startsOf(type, index, zero)], types, one, sizes),
    one,
  );
}

function writeSlice(
  w: HloWriter,
  stack: string,
  type: TensorType,
  value: string,
  index: string,
  zero: string,
): string {
  const one = oneOf(type);
  const row = w.apply("reshape", [value], [sliceType(type)], one);
  const types = [type, one, ...type.shape.map(() => index32)];
  return w.apply("dynamic_update_slice", [stack, row, ...startsOf(type, index, zero)], types, type);
}
