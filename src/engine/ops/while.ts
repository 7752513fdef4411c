import { batchRegion } from "../trace/batch.ts";
import {
  type Batched,
  defineOp,
  type Jax,
  type JaxArray,
  lacking,
  type Op,
  type WasmRegions,
} from "../trace/op.ts";
import { type Region, traceRegions } from "../trace/region.ts";
import { emit, type Node, type Value } from "../trace/value.ts";
import { type HloWriter, hloType } from "../xla/writer.ts";
import { select } from "./elementwise.ts";
import { reduceOr } from "./reduce.ts";
import { batchedValue } from "./rules.ts";
import { broadcastInDim } from "./shape.ts";

/** A loop that goes on while a condition on its carry holds. Inputs: the carry, then what both regions capture. */
interface WhileParams {
  readonly condition: Region;
  readonly body: Region;
  readonly carries: number;
}

const whileOp: Op<WhileParams> = defineOp<WhileParams>({
  name: "whileLoop",
  type: (inputs, { carries }) => inputs.slice(0, carries),
  derivative: lacking(
    "how often it runs is not known; use scan with a length, which keeps what the way back needs",
  ),
  batch: batchWhile,
  stablehlo: writeWhile,
  wasm: { onHost: whileOnHost },
});

/** Traces condition and body and emits the loop. */
export function emitWhile(
  init: readonly Value[],
  condition: (carry: readonly Value[]) => Value,
  body: (carry: readonly Value[]) => readonly Value[],
): readonly Value[] {
  const types = init.map((value) => value.type);
  const [test, step] = traceRegions(
    [
      [types, (carry) => [condition(carry)]],
      [types, body],
    ],
    false,
  ) as [Region, Region];
  return emit(whileOp, [...init, ...test.captures], { condition: test, body: step, carries: init.length });
}

function batchWhile(
  inputs: readonly Batched[],
  { condition, body, carries }: WhileParams,
  size: number,
): readonly Value[] {
  const captures = inputs.slice(carries);
  let differs = inputs.slice(0, carries).map((input) => input.batched);
  const given = (carry: readonly Value[]): Batched[] => [
    ...carry.map((value, i) => ({ value, batched: differs[i] as boolean })),
    ...captures,
  ];
  for (;;) {
    const bodyDiffers: boolean[] = [];
    const results = emitWhile(
      inputs.slice(0, carries).map((input, i) => (differs[i] ? batchedValue(input, size) : input.value)),
      (carry) => {
        const [test] = batchRegion(condition, given(carry), size) as [Batched];
        return test.batched ? reduceOr(test.value, [0]) : test.value;
      },
      (carry) => {
        const [test] = batchRegion(condition, given(carry), size) as [Batched];
        const next = batchRegion(body, given(carry), size);
        bodyDiffers.push(
          ...next.map((result, i) => result.batched || test.batched || (differs[i] as boolean)),
        );
        return next.map((result, i) => {
          if (!bodyDiffers[i]) return result.value;
          const now = batchedValue({ value: carry[i] as Value, batched: differs[i] as boolean }, size);
          const then = batchedValue(result, size);
          // Examples that have finished keep what they have.
          return test.batched ? select(broadcastInDim(test.value, now.shape, [0]), then, now) : then;
        });
      },
    );
    if (bodyDiffers.every((now, i) => now === differs[i]))
      return results.map((value, i) => batchedValue({ value, batched: differs[i] as boolean }, size));
    differs = bodyDiffers;
  }
}

function writeWhile(w: HloWriter, inputs: readonly string[], node: Node<WhileParams>): readonly string[] {
  const { condition, body, carries } = node.params;
  const types = node.inputs.map((input) => hloType(input.type));
  const names = inputs.map(() => w.fresh("s"));
  const test = w.region(condition, names);
  const step = w.region(body, names);
  const text = [
    `stablehlo.while(${names.map((name, i) => `${name} = ${inputs[i]}`).join(", ")}) : ${types.join(", ")}`,
    "    cond {",
    ...test.lines,
    `        stablehlo.return ${test.results[0]} : tensor<i1>`,
    "    } do {",
    ...step.lines,
    `        stablehlo.return ${[...step.results, ...names.slice(carries)].join(", ")} : ${types.join(", ")}`,
    "    }",
  ].join("\n");
  return w.putMany(types.length, text).slice(0, carries);
}

function whileOnHost(
  _j: Jax,
  inputs: readonly JaxArray[],
  node: Node<WhileParams>,
  regions: WasmRegions,
): readonly JaxArray[] {
  const { condition, body, carries } = node.params;
  const [test, step] = [regions(condition), regions(body)];
  let carry: readonly JaxArray[] = inputs.slice(0, carries);
  const captures = inputs.slice(carries);
  const refs = (arrays: readonly JaxArray[]) => arrays.map((array) => array.ref);
  while (test([...refs(carry), ...refs(captures)])[0]?.dataSync()[0])
    carry = step([...carry, ...refs(captures)]);
  for (const array of captures) array.dispose();
  return carry;
}
