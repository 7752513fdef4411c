import { describe, expect, it } from "vitest";
import { np, type Value } from "../index.ts";
import { compile } from "./compile.ts";
import { testEngines } from "./engines.test-support.ts";
import { put } from "./put.ts";

describe.runIf(testEngines().includes("xla"))("bytes of a tensor on xla", () => {
  it.each([10, 1_000_000])("come in parts from any position, of %d numbers", async (size) => {
    const numbers = Float32Array.from({ length: size }, (_, i) => i);
    const tensor = put(numbers, { engine: "xla" });
    const all = new Uint8Array(numbers.buffer);
    const target = new Uint8Array(new SharedArrayBuffer(all.length - 7));
    await Promise.all([
      tensor.readBytes(5, target.subarray(0, 20)),
      tensor.readBytes(25, target.subarray(20)),
      tensor.readBytes(0, target.subarray(0, 0)),
    ]);
    expect(Buffer.compare(target, all.subarray(5, all.length - 2))).toBe(0);
    await expect(tensor.readBytes(all.length - 1, new Uint8Array(2))).rejects.toThrow(/of a buffer of/);
  });

  it("are those of the elements in their own width", async () => {
    const bytes = new Uint8Array(4);
    await put([1, -2], { dtype: "bf16", engine: "xla" }).readBytes(0, bytes);
    expect([...bytes]).toEqual([0x80, 0x3f, 0x00, 0xc0]);
    await put([true, false, true, true], { engine: "xla" }).readBytes(0, bytes);
    expect([...bytes]).toEqual([1, 0, 1, 1]);
  });

  it("are waited for until they have been computed", async () => {
    const numbers = new Float32Array(1_000_000).fill(3);
    const double = compile((x: Value) => np.add(x, x), { engine: "xla" });
    const input = put(numbers, { engine: "xla" });
    for (let i = 0; i < 20; i++) {
      const target = new Float32Array(numbers.length);
      using tensor = double(input);
      await tensor.readBytes(0, new Uint8Array(target.buffer));
      expect(target.every((value) => value === 6)).toBe(true);
    }
  });

  it("are refused where the tensor is disposed before they are copied", async () => {
    const tensor = put([3], { engine: "xla" });
    const reading = tensor.readBytes(0, new Uint8Array(4));
    tensor.dispose();
    await expect(reading).rejects.toThrow(/disposed/);
    expect(() => tensor.readBytes(0, new Uint8Array(4))).toThrow(/disposed/);
  });
});
