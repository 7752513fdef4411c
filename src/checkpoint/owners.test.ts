import { describe, expect, it } from "vitest";
import { put } from "../engine/index.ts";
import { snapshotOf } from "./snapshot.ts";

const tensor = () => put([1, 2], { engine: "wasm" });

describe("the owners of a snapshot", () => {
  it("accepts states that share nothing", () => {
    expect(() => snapshotOf({ a: { w: tensor() }, b: { w: tensor(), n: 1 }, c: null })).not.toThrow();
  });

  it("refuses a tensor in two components, naming both places", () => {
    const w = tensor();
    const states = { params: { layers: [{ w }] }, optimizer: { copy: w } };
    expect(() => snapshotOf(states)).toThrow(
      /params: layers\[0\]\.w and optimizer: copy \(f32\[2\]\).*STATE_SHARED/s,
    );
  });

  it("names every one that is shared", () => {
    const [a, b] = [tensor(), tensor()];
    expect(() => snapshotOf({ x: [a, b], y: { a, b } })).toThrow(/x: \[0\] and y: a.*x: \[1\] and y: b/s);
  });

  it("accepts a tensor twice within one component", () => {
    const zeros = tensor();
    expect(() => snapshotOf({ optimizer: { m: zeros, v: zeros } })).not.toThrow();
  });

  it("refuses one memory in two components", () => {
    const memory = new Float32Array(8);
    expect(() => snapshotOf({ a: memory.subarray(0, 4), b: { rest: memory.subarray(4) } })).toThrow(
      /a and b: rest \(f32\[4\]\)/,
    );
  });
});
