import type { ScanParams } from "../ops/scan.ts";
import { regionProgram } from "../trace/program.ts";
import type { Region } from "../trace/region.ts";
import type { Node } from "../trace/value.ts";
import { multiplyAdds } from "./products.ts";

/** Elements of the largest array up to which one kernel was measured to beat many. */
const fewElements = 1024;

/** Multiply-adds of a product up to which the one kernel multiplies as fast: above it, several times slower. */
const fewProducts = 28_000;

/** Ops that the compiler cannot put into one kernel, or turns into a loop of their own. */
const apart = new Set([
  ...["sort", "gather", "scatterAdd", "scatterSet", "lastWrites", "cumsum"],
  ...["convolution", "pool", "whileLoop", "switch"],
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
