import { expect, it } from "vitest";
import { put } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Task } from "../../trainer/index.ts";
import { twoCopies } from "./part.ts";

const taskWith = (state: unknown): Task =>
  ({
    components: { params: { getState: () => state as StateTree, setState: () => undefined } },
  }) as unknown as Task;

it("finds tensors of another copy of the package, wherever they stand", async () => {
  class Tensor {}
  const cause = new Error("is no tensor");
  const found = await twoCopies(taskWith({ layers: [{ w: new Tensor() }] }).components, cause);
  expect(found).toMatchObject({ code: "ESPALIER_TWICE", cause, fix: expect.stringContaining(".mts") });
});

it("has nothing to say against our own, nor against states that cannot be had", async () => {
  const own = { w: put([1], { engine: "wasm" }), n: [1, null, Float32Array.of(1)] };
  expect(await twoCopies(taskWith(own).components, undefined)).toBeUndefined();
  const closed = (): never => {
    throw new Error("it is closed");
  };
  for (const getState of [async () => closed(), closed]) {
    const failing = { components: { a: { getState } } } as unknown as Task;
    expect(await twoCopies(failing.components, undefined)).toBeUndefined();
  }
});
