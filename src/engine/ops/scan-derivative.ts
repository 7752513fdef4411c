import { differentiate } from "../trace/differentiate.ts";
import { isFloat } from "../trace/dtype.ts";
import { userError } from "../trace/location.ts";
import { inline, postorder, type Region, substitute, traceRegion } from "../trace/region.ts";
import type { TensorType } from "../trace/type.ts";
import type { Node, Value } from "../trace/value.ts";
import { zerosLike } from "./constant.ts";
import { add } from "./elementwise.ts";
import { emitScan, type ScanParams, scanParts } from "./scan.ts";
import { lateSums } from "./scan-sums.ts";

/** One step forward and back in one graph, before it is cut in two. */
interface ScanStep {
  readonly region: Region;
  readonly index: Value;
  readonly carry: readonly Value[];
  readonly xs: readonly Value[];
  readonly captures: readonly Value[];
  readonly ctCarry: readonly Value[];
  readonly ctYs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly gradCarry: readonly Value[];
  readonly gradXs: readonly (Value | undefined)[];
  readonly gradCaptures: readonly (Value | undefined)[];
}

/**
 * The gradient of a scan is a scan. The forward loop runs once, keeping of each step what the way back reads
 * (see `augments`); a second loop goes the other way, carrying the cotangents of the carry and summing up those of
 * the captures.
 */
export function scanDerivative(
  node: Node<ScanParams>,
  cotangents: readonly (Value | undefined)[],
  needed: readonly boolean[],
): readonly (Value | undefined)[] {
  const { params } = node;
  const { count, init, xs, captures } = scanParts(node.inputs, params);
  const from = params.counted ? 1 : 0;
  const wanted = (group: readonly Value[], offset: number) =>
    group.map((value, i) => isFloat(value.dtype) && needed[offset + i] === true);
  const floatCarry = init.map((value) => isFloat(value.dtype));
  const wantXs = wanted(xs, from + init.length);
  const wantCaptures = wanted(captures, from + init.length + xs.length);
  const usedYs = cotangents.slice(params.carries).map((ct) => ct !== undefined);
  const step = traceStep(params, init, captures, floatCarry, usedYs, wantXs, wantCaptures);
  const kept = residuals(step);
  if (kept.length > 0 && params.length === undefined)
    throw userError(
      "NO_DERIVATIVE",
      "the gradient of a scan with a run-time length needs room for every step",
      "give the most steps there can be: scan(body, init, xs, { length: n, maxLength: 1000 })",
    );

  const forward = emitScan({
    count,
    length: params.length,
    reverse: params.reverse,
    init,
    xs,
    augments: node,
    step: (index, carry, slices) => {
      const known = bindings(step, index, carry, slices, captures);
      const results = substitute([...step.outputs, ...kept], known);
      return { carry: results.slice(0, init.length), ys: results.slice(init.length) };
    },
  });
  const keptStacks = forward.ys.slice(node.outputs.length - init.length);

  // Gradients of captures: in one product after the loop where that can be, else added up in the loop.
  const parts = partsOf(step);
  const varies = (value: Value) => (parts.get(value) ?? 0) !== 0;
  const late = lateSums(params.counted ? [] : step.gradCaptures, varies);
  const stackedBefore = new Map<Value, Value>();
  kept.forEach((value, i) => stackedBefore.set(value, keptStacks[i] as Value));
  step.xs.forEach((value, i) => stackedBefore.set(value, xs[i] as Value));
  const lateNeeds = [...new Set(late.flatMap((sum) => sum?.needs ?? []))].filter(
    (value) => !stackedBefore.has(value),
  );
  const early = step.gradCaptures.map((grad, i) => (late[i] ? undefined : grad));
  const earlyGrads = early.filter((grad): grad is Value => grad !== undefined);
  const gradXs = step.gradXs.filter((grad): grad is Value => grad !== undefined);

  const startCarry = init.flatMap((value, i) => (floatCarry[i] ? [cotangents[i] ?? zerosLike(value)] : []));
  const ctStacks = cotangents.slice(params.carries).filter((ct): ct is Value => ct !== undefined);
  const backward = emitScan({
    count,
    length: params.length,
    reverse: !params.reverse,
    init: [...startCarry, ...earlyGrads.map(zerosLike)],
    xs: [...keptStacks, ...xs, ...ctStacks],
    step: (index, carry, slices) => {
      const known = bindings(
        step,
        index,
        undefined,
        slices.slice(kept.length, kept.length + xs.length),
        captures,
      );
      kept.forEach((value, i) => known.set(value, slices[i] as Value));
      step.ctCarry.forEach((value, i) => known.set(value, carry[i] as Value));
      step.ctYs.forEach((value, i) => known.set(value, slices[kept.length + xs.length + i] as Value));
      const results = substitute([...step.gradCarry, ...earlyGrads, ...gradXs, ...lateNeeds], known);
      const sums = earlyGrads.map((_, i) =>
        add(carry[startCarry.length + i] as Value, results[startCarry.length + i] as Value),
      );
      return {
        carry: [...results.slice(0, startCarry.length), ...sums],
        ys: results.slice(startCarry.length + sums.length),
      };
    },
  });

  lateNeeds.forEach((value, i) => stackedBefore.set(value, backward.ys[gradXs.length + i] as Value));
  const carryGrads = [...backward.carry];
  const ofInit = floatCarry.map((float) => (float ? carryGrads.shift() : undefined));
  const ofCaptures = early.map((grad, i) =>
    grad ? carryGrads.shift() : late[i]?.build((value) => stackedBefore.get(value) as Value),
  );
  const stacks = [...backward.ys];
  const ofXs = step.gradXs.map((grad) => (grad ? stacks.shift() : undefined));
  return [...(count ? [undefined] : []), ...ofInit, ...ofXs, ...ofCaptures];
}

function traceStep(
  params: ScanParams,
  init: readonly Value[],
  captures: readonly Value[],
  floatCarry: readonly boolean[],
  usedYs: readonly boolean[],
  wantXs: readonly boolean[],
  wantCaptures: readonly boolean[],
): ScanStep {
  const { body, carries } = params;
  const typesOf = (values: readonly Value[]): TensorType[] => values.map((value) => value.type);
  const ysTypes = typesOf(body.outputs.slice(carries)).filter((_, i) => usedYs[i]);
  const types = [
    ...typesOf(body.params),
    ...typesOf(captures),
    ...typesOf(init).filter((_, i) => floatCarry[i]),
    ...ysTypes,
  ];
  let step: Omit<ScanStep, "region"> | undefined;
  const region = traceRegion(types, (all) => {
    const rest = [...all];
    const take = (n: number) => rest.splice(0, n);
    const [index] = take(1) as [Value];
    const carry = take(carries);
    const xs = take(params.stacked);
    const caps = take(captures.length);
    const ctCarry = take(floatCarry.filter(Boolean).length);
    const ctYs = take(ysTypes.length);
    const outputs = inline(body, [index, ...carry, ...xs, ...caps]);
    const queue = { carry: [...ctCarry], ys: [...ctYs] };
    const given = outputs.map((_, i) =>
      i < carries
        ? floatCarry[i]
          ? queue.carry.shift()
          : undefined
        : usedYs[i - carries]
          ? queue.ys.shift()
          : undefined,
    );
    const by = [
      ...carry.filter((_, i) => floatCarry[i]),
      ...xs.filter((_, i) => wantXs[i]),
      ...caps.filter((_, i) => wantCaptures[i]),
    ];
    const grads = differentiate(outputs, given, by, add);
    const pull = (want: readonly boolean[]) => want.map((wanted) => (wanted ? grads.shift() : undefined));
    const gradCarry = grads
      .splice(0, ctCarry.length)
      .map((grad, i) => grad ?? zerosLike(ctCarry[i] as Value));
    const gradXs = pull(wantXs);
    const gradCaptures = pull(wantCaptures);
    step = { index, carry, xs, captures: caps, ctCarry, ctYs, outputs, gradCarry, gradXs, gradCaptures };
    return [...gradCarry, ...gradXs, ...gradCaptures].filter((grad): grad is Value => grad !== undefined);
  });
  if (!step) throw new Error("the step was not traced");
  return { region, ...step };
}

function bindings(
  step: ScanStep,
  index: Value,
  carry: readonly Value[] | undefined,
  xs: readonly Value[],
  captures: readonly Value[],
): Map<Value, Value> {
  const known = new Map<Value, Value>([[step.index, index]]);
  carry?.forEach((value, i) => known.set(step.carry[i] as Value, value));
  step.xs.forEach((value, i) => known.set(value, xs[i] as Value));
  step.captures.forEach((value, i) => known.set(value, captures[i] as Value));
  // What the step reads from outside stands for itself.
  for (const value of step.region.captures) known.set(value, value);
  return known;
}

const FORWARD = 1;
const BACKWARD = 2;

/** The halves that each value of the step depends on; none: the same in every step. */
function partsOf(step: ScanStep): Map<Value, number> {
  const parts = new Map<Value, number>();
  for (const value of [step.index, ...step.carry, ...step.xs]) parts.set(value, FORWARD);
  for (const value of [...step.ctCarry, ...step.ctYs]) parts.set(value, BACKWARD);
  for (const node of orderOf(step)) {
    const part = node.inputs.reduce((sum, input) => sum | (parts.get(input) ?? 0), 0);
    for (const output of node.outputs) parts.set(output, part);
  }
  return parts;
}

function orderOf({ region }: ScanStep): Node[] {
  const bound = new Set([...region.params, ...region.captures]);
  return postorder(region.outputs, (value) => bound.has(value));
}

/** Costs too much to run a second time on the way back. */
const expensive = new Set([
  "dotGeneral",
  "convolution",
  "scan",
  "whileLoop",
  "switch",
  "sort",
  "gather",
  "scatterAdd",
  "scatterSet",
]);

/**
 * The values of the forward half that the backward half reads and cannot cheaply make again. What only derivatives
 * compute from the forward half, such as y (1 - y), is made again from what the forward half has anyway.
 */
function residuals(step: ScanStep): Value[] {
  const parts = partsOf(step);
  const bound = new Set([...step.region.params, ...step.region.captures]);
  const primal = new Set(postorder(step.outputs, (value) => bound.has(value)));
  const kept = new Set<Value>();
  const free = new Set<Value>([step.index, ...step.xs]);
  const carried = new Set(step.carry);
  const remake = ({ node }: Value) =>
    node.op.cheap === true || !(primal.has(node) || expensive.has(node.op.name));
  const keep = (value: Value): void => {
    if (parts.get(value) !== FORWARD || free.has(value) || kept.has(value)) return;
    if (!carried.has(value) && remake(value)) value.node.inputs.forEach(keep);
    else kept.add(value);
  };
  for (const node of orderOf(step))
    if (node.outputs.some((output) => ((parts.get(output) ?? 0) & BACKWARD) !== 0)) node.inputs.forEach(keep);
  step.region.outputs.forEach(keep);
  return [...kept];
}
