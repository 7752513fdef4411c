import type { ScanParams } from "../ops/scan.ts";
import type { Program } from "../trace/program.ts";
import { regionProgram } from "../trace/program.ts";
import { regionsOf } from "../trace/region.ts";
import type { Node } from "../trace/value.ts";
import { multiplyAdds } from "./products.ts";
import { isSmallLoop } from "./small-loops.ts";

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
