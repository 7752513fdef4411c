import type { Program } from "../trace/program.ts";
import { regionProgram } from "../trace/program.ts";
import { regionsOf } from "../trace/region.ts";
import type { Node } from "../trace/value.ts";

/** Multiply-adds of the largest product above which the CPU's threads pay. */
const manyProducts = 4_000_000;

/** By default the CPU compiler's minima and maxima drop NaN on one side, and a diverged loss would look healthy. */
const strict = { xla_cpu_enable_fast_min_max: false };

/** Compiler flags that suit a program: measured, see docs/engines.md. */
export function chooseFlags(
  platform: string,
  program: Program,
  deterministic: boolean,
): Record<string, boolean> {
  if (platform !== "cpu") return deterministic ? { xla_gpu_deterministic_ops: true } : {};
  if (largestProduct(program) > manyProducts) return strict;
  return {
    ...strict,
    xla_cpu_multi_thread_eigen: false,
    xla_cpu_enable_concurrency_optimized_scheduler: false,
    xla_cpu_copy_insertion_use_region_analysis: true,
  };
}

function largestProduct(program: Program): number {
  return program.nodes.reduce((largest, node) => {
    const inside = regionsOf(node).map((region) => largestProduct(regionProgram(region)));
    return Math.max(largest, products(node), ...inside);
  }, 0);
}

/** Multiply-adds of one node. */
function products({ op, inputs, outputs, params }: Node): number {
  if (op.name === "dotGeneral") {
    const { lhsContract } = params as { readonly lhsContract: readonly number[] };
    return lhsContract.reduce((product, axis) => product * (inputs[0].shape[axis] ?? 1), outputs[0].size);
  }
  if (op.name === "convolution") return outputs[0].size * inputs[1].size;
  return 0;
}
