import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { DType } from "../../engine/index.ts";
import { fileOf } from "./files.test-support.ts";
import { dtypeNamed } from "./header.ts";
import { findOriginal } from "./python.test-support.ts";
import { encodeSafetensors, type HostTensor, readHeader, readTensor } from "./tensors.ts";

const fixture = readFileSync(new URL("../fixtures/original.safetensors", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "espalier-safetensors-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function readAll(bytes: Uint8Array) {
  const file = fileOf(bytes);
  const header = await readHeader(file);
  const tensors: Record<string, HostTensor> = {};
  for (const name of header.tensors.keys()) tensors[name] = await readTensor(file, header, name);
  return { header, tensors };
}

describe("a file of the original library", () => {
  it("is read: every element type, an empty tensor, a scalar, any name, metadata", async () => {
    const { header, tensors } = await readAll(fixture);
    expect(header.metadata).toEqual({ läge: 'ä " \\ \n' });
    expect([...(tensors.f32?.data ?? [])]).toEqual([
      0,
      -0,
      1.5,
      -2.25,
      Infinity,
      -Infinity,
      1.401298464324817e-45,
      3.4028234663852886e38,
    ]);
    expect(tensors.f64?.data).toEqual(Float64Array.of(0.1, -0, 5e-324));
    expect(tensors.f16?.data).toEqual(Float32Array.of(1, -2, 2 ** -24, 65504, Infinity, NaN));
    expect(tensors.bf16?.data).toEqual(Float32Array.of(1, -2, 2 ** -133, NaN));
    expect(tensors.i32?.data).toEqual(Int32Array.of(-(2 ** 31), 2 ** 31 - 1));
    expect(tensors.u32?.data).toEqual(Uint32Array.of(0, 2 ** 32 - 1));
    expect(tensors.u8?.data).toEqual(Uint8Array.of(0, 127, 255));
    expect(tensors.bool).toEqual({ dtype: "bool", shape: [2, 1], data: Uint8Array.of(0, 1) });
    expect(tensors.empty).toEqual({ dtype: "f32", shape: [0, 3], data: new Float32Array(0) });
    expect(tensors.scalar).toEqual({ dtype: "f32", shape: [], data: Float32Array.of(7) });
    expect(tensors['läge[0]."w"']?.data).toEqual(Int32Array.of(42));
  });

  it("is written byte for byte as the original wrote it", async () => {
    const { header, tensors } = await readAll(fixture);
    expect(Buffer.from(encodeSafetensors(tensors, header.metadata)).equals(fixture)).toBe(true);
  });
});

describe("one tensor", () => {
  it("is read without the others", async () => {
    const file = fileOf(fixture);
    const header = await readHeader(file);
    expect(file.reads).toEqual([
      [0, 8],
      [8, header.dataStart - 8],
    ]);
    await readTensor(file, header, "i32");
    expect(file.reads.slice(2)).toEqual([[header.dataStart + 68, 8]]);
  });

  it("that is not there is an error with the nearest name", async () => {
    const file = fileOf(fixture);
    await expect(readTensor(file, await readHeader(file), "scaler")).rejects.toThrow(/did you mean "scalar"/);
  });
});

const original = findOriginal();
const name = "the original library, live";
if ("missing" in original) it.skip(`${name}: ${original.missing}`, () => undefined);
else
  describe(name, () => {
    it("writes what the fixture holds", () => {
      const path = join(folder, "original.safetensors");
      original.write(path);
      expect(readFileSync(path).equals(fixture)).toBe(true);
    });

    it("reads every element type that we write", () => {
      const path = join(folder, "ours.safetensors");
      const numbers: Readonly<Record<DType, HostTensor["data"]>> = {
        f32: Float32Array.of(1, -0, NaN),
        f64: Float64Array.of(0.1, 2, 3),
        f16: Float32Array.of(1, 2 ** -24, -65504),
        bf16: Float32Array.of(1, 2 ** -133, -3),
        i32: Int32Array.of(-1, 2, 3),
        u32: Uint32Array.of(1, 2, 2 ** 32 - 1),
        u8: Uint8Array.of(1, 2, 255),
        bool: Uint8Array.of(1, 0, 1),
      };
      const tensors = Object.fromEntries(
        Object.entries(numbers).map(([dtype, data]) => [
          `x.${dtype}`,
          { dtype: dtype as DType, shape: [3, 1], data },
        ]),
      );
      writeFileSync(path, encodeSafetensors(tensors, { note: "by espalier" }));
      const found = original.read(path);
      expect(found.metadata).toEqual({ note: "by espalier" });
      for (const [dtype, data] of Object.entries(numbers)) {
        const entry = found.tensors[`x.${dtype}`];
        expect(dtypeNamed(entry?.dtype ?? "")).toBe(dtype);
        expect(entry?.shape).toEqual([3, 1]);
        if (!dtype.endsWith("f16")) expect(entry?.hex).toBe(Buffer.from(data.buffer).toString("hex"));
      }
      expect(found.tensors["x.f16"]?.hex).toBe("003c0100fffb");
      expect(found.tensors["x.bf16"]?.hex).toBe("803f010040c0");
    });
  });
