import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { np, type Value } from "../index.ts";
import type { HostMemory } from "./backend.ts";
import { compile } from "./compile.ts";
import { testEngines } from "./engines.test-support.ts";
import { put } from "./put.ts";

const onCpu = (): boolean =>
  testEngines().includes("xla") && put([0], { engine: "xla" }).device.kind === "cpu";

function seen({ viewer, address }: HostMemory, bytes: number): Float32Array {
  const { view } = createRequire(import.meta.url)(viewer) as {
    view(at: number, length: number): ArrayBuffer;
  };
  return new Float32Array(view(address, bytes));
}

describe.runIf(onCpu())("the memory of a tensor on xla's CPU", () => {
  const numbers = Float32Array.from({ length: 1_000_000 }, (_, i) => i);

  it("is seen where it lies once it has been computed", async () => {
    const double = compile((x: Value) => np.add(x, x), { engine: "xla" });
    const input = put(numbers, { engine: "xla" });
    for (let i = 0; i < 5; i++) {
      const memory = (await double(input).inPlace()) as HostMemory;
      const found = seen(memory, 4 * numbers.length);
      expect(found.every((value, at) => value === 2 * at)).toBe(true);
      memory.release();
    }
  });

  it("stays until all have released it, though the tensor is disposed before", async () => {
    const tensor = put(numbers, { engine: "xla" });
    const memory = (await tensor.inPlace()) as HostMemory;
    const again = (await tensor.inPlace()) as HostMemory;
    expect(again.address).toBe(memory.address);
    memory.release();
    memory.release();
    tensor.dispose();
    // Would take the place of what was freed.
    const others = Array.from({ length: 8 }, () => put(new Float32Array(numbers.length), { engine: "xla" }));
    expect(Buffer.compare(new Uint8Array(seen(again, 4e6).buffer), new Uint8Array(numbers.buffer))).toBe(0);
    again.release();
    for (const other of others) other.dispose();
  });

  it("is refused of a tensor that is disposed, and there is none of an empty one", async () => {
    const tensor = put([1], { engine: "xla" });
    const coming = tensor.inPlace();
    tensor.dispose();
    await expect(coming).rejects.toThrow(/disposed/);
    expect(await put(new Float32Array(0), { engine: "xla" }).inPlace()).toBeUndefined();
  });
});

it("an engine without memory of its own lends none", async () => {
  expect(await put([1, 2], { engine: "wasm" }).inPlace()).toBeUndefined();
});
