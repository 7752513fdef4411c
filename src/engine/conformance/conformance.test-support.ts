import type { ConformanceCase } from "../../testing/conformance.ts";
import type { EngineName } from "../index.ts";
import { checkBatching } from "./checks/batching.test-support.ts";
import { checkDerivatives } from "./checks/derivatives.test-support.ts";
import { checkInLoop, checkTable, checkValues } from "./checks/values.test-support.ts";
import { controlCases } from "./control/index.test-support.ts";
import { samples } from "./samples/index.test-support.ts";

/** Options of {@link engineConformance}. */
export interface ConformanceOptions {
  readonly engine: EngineName;
  /** Another engine whose numbers must agree. */
  readonly reference?: EngineName;
  /** The seed of random shapes and numbers to try. Default: 0. */
  readonly seed?: number;
}

/**
 * The conformance suite of engines: every row of the op table over shapes, element types, empty axes and axes of
 * length 1, its derivatives by differences, its batching rule against loops, the row inside a loop, then loops and
 * branches.
 *
 * @example
 * ```ts
 * for (const { name, run } of engineConformance({ engine: "xla", reference: "wasm" })) test(name, run);
 * ```
 */
export function engineConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  const { engine, reference, seed = 0 } = options;
  const rows = [...samples].flatMap(([row, make]): ConformanceCase[] => [
    { name: `${row}: values`, run: () => checkValues(row, make, engine, reference, seed) },
    { name: `${row}: derivatives`, run: () => checkDerivatives(row, make, engine, reference, seed) },
    { name: `${row}: batching`, run: () => checkBatching(row, make, engine, seed) },
    { name: `${row}: in a loop`, run: () => checkInLoop(row, make, engine, seed) },
  ]);
  return [{ name: "the op table is whole", run: async () => checkTable() }, ...rows, ...controlCases(engine)];
}
