import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { put, read, spec, type Tensor } from "../../engine/index.ts";
import { mlp } from "../../nn/index.ts";
import { withHeader } from "./files.test-support.ts";
import { findOriginal } from "./python.test-support.ts";
import { encodeSafetensors } from "./tensors.ts";
import { loadWeights, saveWeights } from "./weights.ts";

const folder = mkdtempSync(join(tmpdir(), "espalier-weights-"));
afterAll(() => rmSync(folder, { recursive: true }));
const original = findOriginal();
const on = { engine: "wasm" } as const;
const params = () => mlp({ hidden: [3], out: 2 }).init(1, spec([4, 5]), on);

describe("weights", () => {
  it("come back under their names, bit for bit, and leave nothing beside the file", async () => {
    const file = join(folder, "a.safetensors");
    const given = params();
    await saveWeights(given, file);
    const found = await loadWeights(file, on);
    expect(await read(found)).toEqual(await read(given));
    expect((found.hidden0 as { w: Tensor }).w.shape).toEqual([5, 3]);
    expect(readdirSync(folder)).toEqual(["a.safetensors"]);
  });

  it.skipIf("missing" in original)("are read by the original library, and its files by us", async () => {
    if ("missing" in original) return;
    const file = join(folder, "b.safetensors");
    const given = params();
    await saveWeights(given, file, { made: "here" });
    const { tensors, metadata } = original.read(file);
    expect(metadata).toEqual({ made: "here" });
    expect(Object.keys(tensors).sort()).toEqual(["hidden0.b", "hidden0.w", "out.b", "out.w"]);
    const w = (given.out as { w: Tensor }).w;
    expect(tensors["out.w"]).toMatchObject({ shape: [3, 2] });
    expect(tensors["out.w"]?.hex).toBe(Buffer.from((await w.read()).buffer).toString("hex"));
  });

  it("can be asked for in 32 bits, whatever a file of another system has", async () => {
    const file = join(folder, "c.safetensors");
    const data = Float32Array.of(1, -2);
    writeFileSync(
      file,
      encodeSafetensors({
        "model.layers.0.w": { dtype: "bf16", shape: [2], data },
        "model.ids": { dtype: "i32", shape: [2], data: Int32Array.of(3, 4) },
      }),
    );
    const found = await loadWeights(file, { ...on, dtype: "f32" });
    expect(await read(found)).toEqual({
      model: { layers: { 0: { w: data } }, ids: Int32Array.of(3, 4) },
    });
  });

  it("say what is wrong, and leave no file", async () => {
    const file = join(folder, "none.safetensors");
    const fails = async (work: Promise<unknown>, code: string, text: RegExp) =>
      expect(work).rejects.toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error,
      );
    await fails(loadWeights(file), "FILE_MISSING", /none\.safetensors/);
    await fails(loadWeights(tmpdir()), "FILE_MISSING", /directory/);
    await fails(saveWeights({ a: 3 } as never, file), "WEIGHTS_INVALID", /"a" is 3/);
    await fails(saveWeights({ "a.b": put([1], on) }, file), "WEIGHTS_INVALID", /a\.b/);
    const gone = put([1], on);
    gone.dispose();
    await fails(saveWeights({ gone }, file), "TENSOR_DISPOSED", /disposed/);
    expect(existsSync(file)).toBe(false);
    expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
    writeFileSync(file, withHeader("{", 0));
    await fails(loadWeights(file), "SAFETENSORS_INVALID", /none\.safetensors/);
    const one = { dtype: "f32", shape: [1], data: Float32Array.of(1) } as const;
    writeFileSync(file, encodeSafetensors({ a: one, "a.b": one }));
    await fails(loadWeights(file), "WEIGHTS_INVALID", /"a" is a tensor, and "a\.b"/);
  });
});
