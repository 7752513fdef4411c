import type { DotDims } from "../ops/dot.ts";
import type { Jax, JaxArray } from "../trace/op.ts";
import { inMemory } from "./dtype.ts";

const freeAxes = (rank: number, ...used: (readonly number[])[]): number[] =>
  Array.from({ length: rank }, (_, i) => i).filter((i) => !used.some((axes) => axes.includes(i)));

const sizeOf = (x: JaxArray, axes: readonly number[]): number =>
  axes.reduce((product, axis) => product * (x.shape[axis] as number), 1);

/** Multiply-adds from which copying an operand to another layout pays, where what is summed over is short or rows are many. */
const worthwhile = 50_000;
const short = 32;
const many = 1024;

/**
 * A product by jax-js. Its kernels run along the right operand's free axes: they are several times faster where those
 * are the last ones and long. So the right operand of a short sum, or of many rows, is brought into that order, and the longer side of
 * a gradient (both sides summed over their first axis) is put on the right.
 */
export function jaxDot(j: Jax, x: JaxArray, y: JaxArray, dims: DotDims): JaxArray {
  const { lhsContract, rhsContract, lhsBatch, rhsBatch } = dims;
  const leftFree = freeAxes(x.ndim, lhsContract, lhsBatch);
  const rightFree = freeAxes(y.ndim, rhsContract, rhsBatch);
  const [rows, columns] = [sizeOf(x, leftFree), sizeOf(y, rightFree)];
  const depth = sizeOf(x, lhsContract);
  const products = rows * columns * depth * sizeOf(x, lhsBatch);
  const plain = (a: JaxArray, b: JaxArray, d: DotDims) =>
    j.lax.dot(a, b, {
      lhsContractingDims: [...d.lhsContract],
      rhsContractingDims: [...d.rhsContract],
      lhsBatchDims: [...d.lhsBatch],
      rhsBatchDims: [...d.rhsBatch],
    });
  if (products < worthwhile) return plain(x, y, dims);
  const isGradient = lhsBatch.length === 0 && lhsContract.join() === "0" && rhsContract.join() === "0";
  if (isGradient && rows > columns && x.ndim === 2 && y.ndim === 2)
    return plain(y, x, dims).transpose([1, 0]);
  const inOrder = Math.max(...rhsContract) < Math.min(...rightFree);
  if (inOrder || (depth > short && rows < many)) return plain(x, y, dims);
  const order = [...rhsBatch, ...rhsContract, ...rightFree];
  return plain(x, inMemory(j, y.transpose(order)), {
    lhsContract,
    rhsContract: rhsContract.map((_, i) => rhsBatch.length + i),
    lhsBatch,
    rhsBatch: rhsBatch.map((_, i) => i),
  });
}
