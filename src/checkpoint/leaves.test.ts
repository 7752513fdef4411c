import { expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { savedLeaves } from "./read-component.ts";
import { encodeHeader, nameOf } from "./safetensors/header.ts";
import { imageOf } from "./snapshot.ts";
import { treeKey } from "./write-component.ts";

it("tells every leaf of a component in a fixed order, from its header alone", () => {
  const state = {
    z: { w: put([1, 2], { engine: "wasm" }) },
    list: ["a", null, Uint8Array.of(1, 2, 3)],
    "a.b": -0,
    none: {},
  };
  const { tree, leaves } = imageOf(state, false);
  const plans = leaves.map(({ name, dtype, shape }) => ({ name, dtype: nameOf(dtype), shape }));
  const { header } = encodeHeader(plans, { [treeKey]: tree });
  expect(savedLeaves(header)).toEqual([
    { path: '["a.b"]', kind: "value", value: -0 },
    { path: "list[0]", kind: "value", value: "a" },
    { path: "list[1]", kind: "value", value: null },
    { path: "list[2]", kind: "array", dtype: "u8", shape: [3], bytes: 3 },
    { path: "none", kind: "value", value: "empty object" },
    { path: "z.w", kind: "tensor", dtype: "f32", shape: [2], bytes: 8 },
  ]);
});
