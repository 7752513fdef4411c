import { describe, expect, it } from "vitest";
import { emit, type Op, stopGradient } from "../index.ts";
import { defineOp } from "../trace/op.ts";
import { checkBatching } from "./checks/batching.test-support.ts";
import { checkDerivatives } from "./checks/derivatives.test-support.ts";
import { checkValues } from "./checks/values.test-support.ts";
import { engineConformance } from "./conformance.test-support.ts";
import { references } from "./reference/index.test-support.ts";
import { like, mul } from "./run.test-support.ts";
import type { Reference, SampleMaker } from "./sampler.test-support.ts";

const table = () => engineConformance({ engine: "wasm" })[0];
const make: SampleMaker = (random, float) => [{ inputs: [random.numbers(float, [3])], params: {} }];

/** Rows that double their input, each with something wrong about it. */
function row(name: string, wrong: Partial<Op>): void {
  const op: Op = defineOp<unknown>({
    name,
    type: ([x]) => [x],
    derivative: (_node, [ct]) => [ct && (emit(op, [ct], {})[0] ?? ct)],
    batch: ([x]) => emit(op, [x.value], {}),
    stablehlo: (w, [x], { inputs }) => [w.put(`stablehlo.add ${x}, ${x} : tensor<${inputs[0].shape}xf32>`)],
    wasm: (_j, [x]) => [x.ref.add(x)],
    ...wrong,
  });
  const doubled: Reference = (inputs) =>
    inputs.map((x) => ({ ...x, data: x.data.map((value) => 2 * value) }));
  (references as Map<string, Reference>).set(name, doubled);
}

describe("the conformance suite", () => {
  it("has a case for every row and for every kind of loop and branch, each with a name of its own", () => {
    const names = engineConformance({ engine: "wasm" }).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(["sin: values", "sin: derivatives", "sin: batching"]));
    for (const subject of ["scan", "scan gradient", "whileLoop", "branches", "calls"])
      expect(names.some((name) => name.startsWith(`${subject}: `))).toBe(true);
  });

  it("passes a row that is right", async () => {
    row("rightDouble", {});
    await checkValues("rightDouble", make, "wasm", undefined, 0);
    await checkDerivatives("rightDouble", make, "wasm", undefined, 0);
    await checkBatching("rightDouble", make, "wasm", 0);
  });

  it("finds wrong values, and names the element and both numbers", async () => {
    row("wrongValues", { wasm: (_j, [x]) => [x.ref.mul(x)] });
    await expect(checkValues("wrongValues", make, "wasm", undefined, 0)).rejects.toThrow(
      /wrongValues on f32\[3\] on wasm: element \[0\] is .* instead of /,
    );
  });

  it("finds a wrong derivative", async () => {
    row("wrongDerivative", { derivative: (_node, [ct]) => [ct] });
    await expect(checkDerivatives("wrongDerivative", make, "wasm", undefined, 0)).rejects.toThrow(
      /first derivative by input 0 \(f32\[3\]\) at \[0\]/,
    );
  });

  it("finds a wrong second derivative", async () => {
    // Right where it is evaluated, but written as if it did not depend on the input.
    row("wrongSecond", {
      wasm: (_j, [x]) => [x.ref.mul(x)],
      derivative: ({ inputs: [x] }, [ct]) => [ct && mul(ct, stopGradient(mul(like(x, 2), x)))],
    });
    await expect(checkDerivatives("wrongSecond", make, "wasm", undefined, 0)).rejects.toThrow(
      /second derivative/,
    );
  });

  it("finds a wrong batching rule", async () => {
    row("wrongBatch", { batch: ([x]) => [mul(x.value, x.value)] });
    await expect(checkBatching("wrongBatch", make, "wasm", 0)).rejects.toThrow(/vmap of wrongBatch/);
  });

  it("names the sample an engine fails on", async () => {
    row("throwing", {
      wasm: () => {
        throw new Error("no such kernel");
      },
    });
    await expect(checkValues("throwing", make, "wasm", undefined, 0)).rejects.toThrow(
      /throwing on f32\[3\]: fails on wasm: no such kernel/,
    );
  });

  it("says which rows have no samples", async () => {
    await expect(table()?.run()).rejects.toThrow(/rightDouble has no samples/);
  });
});
