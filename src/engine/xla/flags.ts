import type { ScanParams } from "../ops/scan.ts";
import { type Program, regionProgram } from "../trace/program.ts";
import { type Region, regionsOf } from "../trace/region.ts";
import type { Node } from "../trace/value.ts";

/** Multiply-adds of the largest product above which the CPU's threads pay. */
const manyProducts = 4_000_000;

/** Those of the largest product in a step of a loop from which an order that keeps two threads busy pays. */
const someProducts = 100_000;

/**
 * For all programs on a CPU. By default minima and maxima drop NaN on one side, and a diverged loss would look healthy;
 * and XNNPACK multiplies matrices of some hundred rows, though Eigen is faster.
 */
const always = { xla_cpu_enable_fast_min_max: false, xla_cpu_use_xnnpack: false };

/** Compiler flags that suit a program: measured, see docs/engines.md. */
export function chooseFlags(
  platform: string,
  program: Program,
  deterministic: boolean,
): Record<string, boolean> {
  if (platform !== "cpu") return deterministic ? { xla_gpu_deterministic_ops: true } : {};
  if (largestProduct(program) > manyProducts) return always;
  return {
    ...always,
    xla_cpu_multi_thread_eigen: false,
    xla_cpu_enable_concurrency_optimized_scheduler: isWorthSharing(program),
    xla_cpu_copy_insertion_use_region_analysis: true,
  };
}

/** True if the work outside of loops is enough for two threads. Small loops are one kernel. */
function isWorthSharing(program: Program): boolean {
  const loops = program.nodes.filter((node) => regionsOf(node).length > 0);
  const large = loops.filter((node) => node.op.name !== "scan" || !isSmallLoop(node as Node<ScanParams>));
  if (loops.length === 0) return largestProduct(program) >= someProducts;
  return large.flatMap(regionsOf).every((region) => isWorthSharing(regionProgram(region)));
}

function largestProduct(program: Program): number {
  return program.nodes.reduce((largest, node) => {
    const inside = regionsOf(node).map((region) => largestProduct(regionProgram(region)));
    return Math.max(largest, multiplyAdds(node), ...inside);
  }, 0);
}

/** Multiply-adds of one node: 0 where it is no product. */
function multiplyAdds({ op, inputs, outputs, params }: Node): number {
  if (op.name === "dotGeneral") {
    const { lhsContract } = params as { readonly lhsContract: readonly number[] };
    return lhsContract.reduce((product, axis) => product * (inputs[0].shape[axis] ?? 1), outputs[0].size);
  }
  if (op.name === "convolution") return outputs[0].size * inputs[1].size;
  return 0;
}

/** Elements of the largest array up to which one kernel was measured to beat many. */
const fewElements = 1024;

/** Multiply-adds of a product up to which the one kernel multiplies as fast: above it, several times slower. */
const fewProducts = 28_000;

/** Ops that the compiler cannot put into one kernel, or turns into a loop of their own. */
const apart = new Set([
  "sort",
  "gather",
  "scatterAdd",
  "scatterSet",
  "lastWrites",
  "cumsum",
  "convolution",
  "pool",
  "whileLoop",
  "switch",
]);

/**
 * True if a loop's steps are so small that starting their kernels would take longer than running them. The CPU
 * compiler makes one kernel of such a loop where it is a function of its own that says so.
 */
export function isSmallLoop({ params }: Node<ScanParams>): boolean {
  return isSmall(params.body);
}

const isSmall = (region: Region): boolean =>
  regionProgram(region).nodes.every(
    (node) =>
      !apart.has(node.op.name) &&
      node.outputs.every(({ size }) => size <= fewElements) &&
      multiplyAdds(node) <= fewProducts &&
      (node.op.name !== "scan" ||
        (isSingle(node as Node<ScanParams>) && isSmallLoop(node as Node<ScanParams>))),
  );

/** True if a scan always has one step. */
export const isSingle = ({ params }: Node<ScanParams>): boolean => params.length === 1 && !params.counted;
