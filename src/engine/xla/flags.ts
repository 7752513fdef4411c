import type { Program } from "../trace/program.ts";

/** Multiply-adds of the largest product above which the CPU's threads pay. */
const manyProducts = 4_000_000;

/** Compiler flags that suit a program: measured, see docs/engines.md. */
export function chooseFlags(
  platform: string,
  program: Program,
  deterministic: boolean,
): Record<string, boolean> {
  if (platform !== "cpu") return deterministic ? { xla_gpu_deterministic_ops: true } : {};
  if (largestProduct(program) > manyProducts) return {};
  return {
    xla_cpu_multi_thread_eigen: false,
    xla_cpu_enable_concurrency_optimized_scheduler: false,
    xla_cpu_copy_insertion_use_region_analysis: true,
  };
}

function largestProduct(program: Program): number {
  let largest = 0;
  for (const { op, inputs, outputs, params } of program.nodes) {
    if (op.name === "dotGeneral") {
      const { lhsContract } = params as { readonly lhsContract: readonly number[] };
      const depth = lhsContract.reduce((product, axis) => product * (inputs[0].shape[axis] ?? 1), 1);
      largest = Math.max(largest, outputs[0].size * depth);
    }
    if (op.name === "convolution") largest = Math.max(largest, outputs[0].size * (inputs[1].size / 1));
  }
  return largest;
}
