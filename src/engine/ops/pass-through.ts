import type { Op } from "../trace/op.ts";
import { defineOp, lacking } from "../trace/op.ts";
import type { Value } from "../trace/value.ts";
import { emit1 } from "../trace/value.ts";
import type { None } from "./elementwise-rows.ts";
import { none } from "./elementwise-rows.ts";

const stopOp: Op<None> = defineOp<None>({
  name: "stopGradient",
  type: ([x]) => [x],
  derivative: lacking("it stands for a constant"),
  batch: ([x]) => [emit1(stopOp, [x.value], none)],
  stablehlo: (_w, [x]) => [x],
  wasm: (_j, [x]) => [x],
});

/** The same value, which counts as a constant for derivatives. */
export const stopGradient = (x: Value): Value => emit1(stopOp, [x], none);

const identityOp: Op<None> = defineOp<None>({
  name: "identity",
  type: ([x]) => [x],
  derivative: (_node, [ct]) => [ct],
  batch: ([x]) => [emit1(identityOp, [x.value], none)],
  stablehlo: (_w, [x]) => [x],
  wasm: (_j, [x]) => [x],
  unique: true,
});

/** The same value under a name of its own, so that a derivative can be taken by this use alone. */
export const identity = (x: Value): Value => emit1(identityOp, [x], none);
