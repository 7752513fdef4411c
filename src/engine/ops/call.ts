import { batchRegion } from "../trace/batch.ts";
import { differentiate } from "../trace/differentiate.ts";
import { isFloat } from "../trace/dtype.ts";
import { type Batched, defineOp, lacking, type Op } from "../trace/op.ts";
import type { Calling } from "../trace/program.ts";
import { inline, type Region, traceRegion } from "../trace/region.ts";
import { tensorType } from "../trace/type.ts";
import { emit, type Node, type Value } from "../trace/value.ts";
import { hloType } from "../xla/writer.ts";
import { zerosLike } from "./constant.ts";
import { add } from "./elementwise.ts";
import { batchedValue } from "./rules.ts";

/** A user's rule: cotangents of the inputs from inputs, outputs and the outputs' cotangents. */
export type Rule = (
  inputs: readonly Value[],
  outputs: readonly Value[],
  cotangents: readonly Value[],
) => readonly (Value | undefined)[];

/**
 * A function kept together in the graph because its derivative is special: computed again on the way back (`rule`
 * undefined), or given by the user. Inputs: the region's parameters, then its captures.
 */
interface CallParams extends Calling {
  readonly rule: Rule | undefined;
}

const callOp: Op<CallParams> = defineOp<CallParams>({
  name: "call",
  type: (_inputs, { called }) => called.outputs.map((output) => output.type),
  derivative: callDerivative,
  batch: batchCall,
  stablehlo: lacking("its body is put in its place before an engine sees it"),
  wasm: lacking("its body is put in its place before an engine sees it"),
});

export function emitCall(
  inputs: readonly Value[],
  fn: (params: readonly Value[]) => readonly Value[],
  rule: Rule | undefined,
): readonly Value[] {
  const called = traceRegion(
    inputs.map((input) => input.type),
    fn,
  );
  return emit(callOp, [...inputs, ...called.captures], { called, rule });
}

function callDerivative(
  { inputs, outputs, params }: Node<CallParams>,
  cotangents: readonly (Value | undefined)[],
  needed: readonly boolean[],
): readonly (Value | undefined)[] {
  const { called, rule } = params;
  if (rule) {
    const given = outputs.map((output, i) => cotangents[i] ?? zerosLike(output));
    return rule(inputs.slice(0, called.params.length), outputs, given);
  }
  const wanted = inputs.map((value, i) => needed[i] === true && isFloat(value.dtype));
  const present = cotangents.filter((ct): ct is Value => ct !== undefined);
  // Behind the barrier the forward pass is another computation, which starts when the cotangents have arrived.
  const held = emit(barrierOp, [...inputs, ...present], {});
  const variables = held.slice(0, inputs.length);
  const waiting = held.slice(inputs.length);
  const results = inline(called, variables);
  const given = cotangents.map((ct) => (ct ? waiting.shift() : undefined));
  const by = variables.filter((_, i) => wanted[i]);
  const grads = differentiate(results, given, by, add);
  return wanted.map((want) => (want ? grads.shift() : undefined));
}

function batchCall(inputs: readonly Batched[], { called, rule }: CallParams, size: number): readonly Value[] {
  const explicit = inputs.slice(0, called.params.length);
  const captures = inputs.slice(called.params.length);
  const values = explicit.map((input) => batchedValue(input, size));
  const results = emitCall(
    values,
    (params) =>
      batchRegion(called, [...params.map((value) => ({ value, batched: true })), ...captures], size).map(
        (result) => batchedValue(result, size),
      ),
    rule && batchRule(rule, called, size),
  );
  return results;
}

/** The user's rule, which is for one example, over a leading axis of examples. */
function batchRule(rule: Rule, called: Region, size: number): Rule {
  const inner = (values: readonly Value[]) =>
    values.map((value) => tensorType(value.dtype, value.shape.slice(1)));
  return (inputs, outputs, cotangents) => {
    const all = [...inputs, ...outputs, ...cotangents];
    let which: readonly boolean[] = [];
    const region = traceRegion(inner(all), (params) => {
      const grads = rule(
        params.slice(0, inputs.length),
        params.slice(inputs.length, inputs.length + outputs.length),
        params.slice(inputs.length + outputs.length),
      );
      which = called.params.map((_, i) => grads[i] !== undefined);
      return grads.filter((grad): grad is Value => grad !== undefined);
    });
    const given = [
      ...all.map((value) => ({ value, batched: true })),
      ...region.captures.map((value) => ({ value, batched: false })),
    ];
    const results = batchRegion(region, given, size).map((result) => batchedValue(result, size));
    return which.map((has) => (has ? results.shift() : undefined));
  };
}

const barrierOp: Op<Record<string, never>> = defineOp<Record<string, never>>({
  name: "barrier",
  type: (inputs) => inputs,
  derivative: (_node, cotangents) => cotangents,
  batch: (inputs, _params, size) =>
    emit(
      barrierOp,
      inputs.map((input) => batchedValue(input, size)),
      {},
    ),
  stablehlo: (w, names, { inputs }) => {
    const types = inputs.map((input) => hloType(input.type)).join(", ");
    const text = `stablehlo.optimization_barrier ${names.join(", ")} : ${types}`;
    return names.length === 1 ? [w.put(text)] : w.putMany(names.length, text);
  },
  wasm: (_j, inputs) => inputs,
  unique: true,
});
