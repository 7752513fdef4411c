import { batchRegion } from "../trace/batch.ts";
import { userError } from "../trace/location.ts";
import { type Batched, defineOp, type Op } from "../trace/op.ts";
import type { Augmenting } from "../trace/program.ts";
import { type Region, traceRegion } from "../trace/region.ts";
import { type TensorType, tensorType } from "../trace/type.ts";
import { emit, type Node, type Value } from "../trace/value.ts";
import { scanOnHost } from "../wasm/scan.ts";
import { writeScan } from "../xla/scan.ts";
import { batchedValue } from "./rules.ts";
import { scanDerivative } from "./scan-derivative.ts";
import { transpose } from "./shape.ts";

/**
 * A loop that carries values and goes through stacked ones. Inputs: the trip count where it is a run-time value,
 * the carry, the stacked inputs, the body's captures. Outputs: the carry, the stacked results.
 * The body's parameters: the index of the step (i32), the carry, one slice of each stacked input.
 */
export interface ScanParams extends Augmenting {
  readonly body: Region;
  readonly carries: number;
  readonly stacked: number;
  /** Steps, or the most there can be where the trip count is a run-time value; undefined: no limit, nothing stacked. */
  readonly length: number | undefined;
  readonly counted: boolean;
  readonly reverse: boolean;
}

/** A scan's inputs, or what stands for them, by their role. */
export function scanParts<T>(inputs: readonly T[], { counted, carries, stacked }: ScanParams) {
  const [count, rest] = counted ? [inputs[0], inputs.slice(1)] : [undefined, inputs];
  return {
    count,
    init: rest.slice(0, carries),
    xs: rest.slice(carries, carries + stacked),
    captures: rest.slice(carries + stacked),
  };
}

export const sliceType = (type: TensorType): TensorType => tensorType(type.dtype, type.shape.slice(1));
const stackType = (type: TensorType, length: number): TensorType =>
  tensorType(type.dtype, [length, ...type.shape]);

export const scanOp: Op<ScanParams> = defineOp<ScanParams>({
  name: "scan",
  type: (_inputs, { body, carries, length }) =>
    body.outputs.map((output, i) => (i < carries ? output.type : stackType(output.type, length ?? 0))),
  derivative: scanDerivative,
  batch: batchScan,
  stablehlo: writeScan,
  wasm: { onHost: scanOnHost },
});

let families = 1;

export interface ScanRequest {
  readonly count: Value | undefined;
  readonly length: number | undefined;
  readonly reverse: boolean;
  readonly init: readonly Value[];
  readonly xs: readonly Value[];
  /** One step: the new carry and this step's results. */
  readonly step: (
    index: Value,
    carry: readonly Value[],
    xs: readonly Value[],
  ) => { readonly carry: readonly Value[]; readonly ys: readonly Value[] };
  /** The scan this one repeats with more results, to run in its place. */
  readonly augments?: Node<ScanParams>;
}

/** Traces the step and emits the loop. */
export function emitScan(request: ScanRequest): {
  readonly carry: readonly Value[];
  readonly ys: readonly Value[];
} {
  const { count, init, xs, length, reverse, augments } = request;
  const types = [tensorType("i32", []), ...init.map((v) => v.type), ...xs.map((v) => sliceType(v.type))];
  const body = traceRegion(types, ([index, ...rest]) => {
    const { carry, ys } = request.step(index as Value, rest.slice(0, init.length), rest.slice(init.length));
    return [...carry, ...ys];
  });
  const inputs = [...(count ? [count] : []), ...init, ...xs, ...body.captures];
  const outputs = emit(scanOp, inputs, {
    body,
    carries: init.length,
    stacked: xs.length,
    length,
    counted: count !== undefined,
    reverse,
    family: families++,
    ...(augments
      ? {
          augments: {
            family: augments.params.family,
            inputs: augments.inputs.map((input) => inputs.indexOf(input)),
          },
        }
      : {}),
  });
  return { carry: outputs.slice(0, init.length), ys: outputs.slice(init.length) };
}

/** Swaps the first two axes: the mapped one and the one the loop goes along. */
function swapLeading(x: Value): Value {
  return transpose(x, [1, 0, ...Array.from({ length: x.ndim - 2 }, (_, i) => i + 2)]);
}

function batchScan(inputs: readonly Batched[], params: ScanParams, size: number): readonly Value[] {
  const { carries, body, length, reverse } = params;
  const { count, init, xs, captures } = scanParts(inputs, params);
  if (count?.batched)
    throw userError(
      "NO_BATCHING",
      "vmap: a scan's trip count differs between mapped examples",
      "loop to the largest count and mask with np.where",
    );
  // A carry that starts out equal for all examples may come to differ: go round until no more of them do.
  let differs = init.map((input) => input.batched);
  for (;;) {
    const carriesDiffer: boolean[] = [];
    const { carry, ys } = emitScan({
      count: count?.value,
      length,
      reverse,
      init: init.map((input, i) => (differs[i] ? batchedValue(input, size) : input.value)),
      xs: xs.map((input) => (input.batched ? swapLeading(input.value) : input.value)),
      step: (index, carryNow, slices) => {
        const results = batchRegion(
          body,
          [
            { value: index, batched: false },
            ...carryNow.map((value, i) => ({ value, batched: differs[i] as boolean })),
            ...slices.map((value, i) => ({ value, batched: (xs[i] as Batched).batched })),
            ...captures,
          ],
          size,
        );
        const next = results.slice(0, carries);
        carriesDiffer.push(...next.map((result, i) => result.batched || (differs[i] as boolean)));
        return {
          carry: next.map((result, i) => (carriesDiffer[i] ? batchedValue(result, size) : result.value)),
          ys: results.slice(carries).map((result) => batchedValue(result, size)),
        };
      },
    });
    if (carriesDiffer.every((now, i) => now === differs[i])) {
      const outCarry = carry.map((value, i) => batchedValue({ value, batched: differs[i] as boolean }, size));
      return [...outCarry, ...ys.map(swapLeading)];
    }
    differs = carriesDiffer;
  }
}
