import { describe, expect, it } from "vitest";
import { EspalierError } from "../../core/index.ts";
import { asValue } from "../np/operands.ts";
import { splat } from "../ops/constant.ts";
import { dotGeneral } from "../ops/dot.ts";
import { add, mul } from "../ops/elementwise.ts";
import { Value } from "../trace/value.ts";
import { devices, engine as engineOf, setEngine } from "./choose.ts";
import { compile } from "./compile.ts";
import { testEngines } from "./engines.test-support.ts";
import { memory } from "./memory.ts";
import { put, read } from "./put.ts";
import type { Tensor } from "./tensor.ts";

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof EspalierError) return error.code;
    throw error;
  }
  return "no error";
}

describe.each(testEngines())("compile on %s", (engine) => {
  const options = { engine } as const;

  it("takes and gives trees of tensors", async () => {
    const f = compile(
      (p: { readonly a: Value; readonly rest: readonly Value[] }) => ({
        sum: add(p.a, p.rest[0] as Value),
        same: p.rest,
      }),
      options,
    );
    const { sum, same } = f({ a: 1, rest: [put(2, options), 5] });
    expect(await read({ sum, same })).toEqual({
      sum: Float32Array.of(3),
      same: [Float32Array.of(2), Float32Array.of(5)],
    });
  });

  it("compiles once for each shape and type, whatever the numbers", () => {
    const f = compile((x: Value, y: Value) => mul(x, y), options);
    f(1, 2);
    f(3, 4);
    f(put(3, options), 4);
    expect(f.programs).toBe(1);
    f(Float32Array.of(1, 2), Float32Array.of(3, 4));
    f(Int32Array.of(1, 2), Int32Array.of(3, 4));
    expect(f.programs).toBe(3);
  });

  it("takes static arguments as plain values", async () => {
    const f = compile((x: Value, mode: "double" | "square") => (mode === "double" ? add(x, x) : mul(x, x)), {
      ...options,
      static: [1],
    });
    expect([await f(3, "double").item(), await f(3, "square").item(), f.programs]).toEqual([6, 9, 2]);
  });

  it("uses up donated arguments and says so when they come again", async () => {
    const f = compile((x: Value, y: Value) => add(x, y), { ...options, donate: [0] });
    const x = put(Float32Array.of(1, 2), options);
    const y = put(Float32Array.of(3, 4), options);
    const z = f(x, y);
    expect([...(await z.read())]).toEqual([4, 6]);
    expect(x.isDisposed).toBe(true);
    expect(codeOf(() => f(x, y))).toBe("TENSOR_DONATED");
    await expect(x.read()).rejects.toThrow(/TENSOR_DONATED/);
    expect([...(await f(y, z).read())]).toEqual([7, 10]);
  });

  it("donates members of the first argument by name", () => {
    const f = compile(
      ({ a, b, c }: { readonly [name: string]: Value }, d: Value) =>
        add(add(a as Value, b as Value), add(c as Value, d)),
      { ...options, donate: ["b", "c"] },
    );
    const tensors = Array.from({ length: 4 }, (_, i) => put(Float32Array.of(i), options));
    const [a, b, c, d] = tensors as [Tensor, Tensor, Tensor, Tensor];
    f({ c, b, a }, d);
    expect(tensors.map((tensor) => tensor.isDisposed)).toEqual([false, true, true, false]);
    const wrong = compile((s: { readonly a: Value }) => s.a, { ...options, donate: ["b"] });
    expect(() => wrong({ a })).toThrow(/"b".*ARGUMENT_INVALID/s);
  });

  it("names the argument that is gone, or donated and needed once more", () => {
    const f = compile((p: { readonly w: Value }, y: Value) => add(p.w, y), {
      ...options,
      donate: [0],
      name: "step",
    });
    const x = put(Float32Array.of(1, 2), options);
    expect(() => f({ w: x }, x)).toThrow(/step: argument 0\.w .*second time.*ARGUMENT_INVALID/s);
    x.dispose();
    expect(() => f({ w: put(Float32Array.of(1, 2), options) }, x)).toThrow(
      /step: argument 1 .*TENSOR_DISPOSED/s,
    );
  });

  it("takes different tensors of the same numbers as donated", async () => {
    const zeros = compile(() => ({ m: splat(0, "f32", [2]), v: splat(0, "f32", [2]) }), options)();
    const step = compile((s: { readonly m: Value; readonly v: Value }) => ({ m: add(s.m, s.v), v: s.v }), {
      ...options,
      donate: [0],
    });
    const next = step(step(zeros));
    expect([...(await next.m.read())]).toEqual([0, 0]);
  });

  it("frees tensors at once on dispose and using", async () => {
    const before = memory();
    const f = compile((x: Value) => mul(x, x), options);
    {
      using x = put(Float32Array.of(1, 2, 3), options);
      using y = f(x);
      expect(memory().tensors).toBe(before.tensors + 2);
      expect([...(await y.read())]).toEqual([1, 4, 9]);
      x.dispose();
      x.dispose();
      expect(codeOf(() => f(x))).toBe("TENSOR_DISPOSED");
    }
    expect(memory()).toEqual(before);
  });

  it("uses tensors from outside as they are", async () => {
    const w = put(Float32Array.of(10, 20), options);
    const f = compile((x: Value) => add(x, asValue(w)), options);
    expect([...(await f(Float32Array.of(1, 2)).read())]).toEqual([11, 22]);
    w.dispose();
    expect(codeOf(() => f(Float32Array.of(1, 2)))).toBe("TENSOR_DISPOSED");
  });

  it("runs as part of another compiled function", async () => {
    const inner = compile((x: Value) => mul(x, x), options);
    const outer = compile(
      (x: Value) => add((inner as unknown as (x: Value) => Value)(x), splat(1, "f32")),
      options,
    );
    expect(await outer(3).item()).toBe(10);
    expect(inner.programs).toBe(0);
  });

  it("names the argument that is no tensor, and the fix", () => {
    const f = compile((p: { readonly w: readonly Value[] }, x: Value) => add(p.w[0] as Value, x), {
      ...options,
      name: "step",
    });
    const call = () => f({ w: ["a" as unknown as number] }, 1);
    expect(call).toThrow(/step: argument 0\.w\[0\] is "a" \(string\)/);
    expect(codeOf(call)).toBe("ARGUMENT_INVALID");
    expect(codeOf(() => f({ w: [1] }, (() => 1) as unknown as number))).toBe("ARGUMENT_INVALID");
  });

  it("points at the user's line in shape errors", () => {
    const f = compile(
      (x: Value, y: Value) =>
        dotGeneral(x, y, { lhsContract: [1], rhsContract: [0], lhsBatch: [], rhsBatch: [] }),
      options,
    );
    const call = () => f(put([[1, 2, 3]], options), put([[1], [2]], options));
    expect(call).toThrow(/length 3.*has 2/);
    try {
      call();
    } catch (error) {
      expect((error as EspalierError).at).toMatch(/compile\.test\.ts:\d+:\d+$/);
      expect((error as EspalierError).fix).toBeTruthy();
    }
  });

  it("refuses promises, odd results, and values kept from another trace", () => {
    expect(codeOf(() => compile((async (x: Value) => x) as unknown as (x: Value) => Value, options)(1))).toBe(
      "ASYNC_TRACE",
    );
    expect(codeOf(() => compile((x: Value) => ({ x, name: "a" }) as unknown as Value, options)(1))).toBe(
      "RESULT_INVALID",
    );
    let kept: Value | undefined;
    compile((x: Value) => (kept = add(x, x)), options)(1);
    expect(kept).toBeInstanceOf(Value);
    expect(codeOf(() => compile((x: Value) => add(x, kept as Value), options)(1))).toBe("VALUE_ESCAPED");
    expect(codeOf(() => compile((x: Value) => x, options)(kept as unknown as number))).toBe("VALUE_ESCAPED");
  });

  it("refuses numbers out of traced values", () => {
    const f = compile((x: Value) => ((x as unknown as number) > 0 ? x : add(x, x)), options);
    expect(codeOf(() => f(1))).toBe("TRACED_VALUE_USED_AS_NUMBER");
  });

  it("keeps all element types it has", async () => {
    const f = compile((x: Value) => x, options);
    const kinds =
      engine === "xla"
        ? (["f32", "f64", "f16", "bf16", "i32", "u32", "u8", "bool"] as const)
        : (["f32", "i32", "u32", "u8", "bool"] as const);
    for (const dtype of kinds) {
      const y = f(put([0, 1, 2, 255], { ...options, dtype }));
      expect(y.dtype).toBe(dtype);
      expect([...(await y.read())]).toEqual(dtype === "bool" ? [0, 1, 1, 1] : [0, 1, 2, 255]);
    }
  });

  it("handles empty tensors", async () => {
    const f = compile((x: Value) => add(x, x), options);
    const y = f(put(new Float32Array(0), { ...options, shape: [0, 3] }));
    expect(y.shape).toEqual([0, 3]);
    expect((await y.read()).length).toBe(0);
  });

  it("does not recompile for trees whose keys come in another order", () => {
    const f = compile((p: { readonly a: Value; readonly b: Value }) => add(p.a, p.b), options);
    f({ a: 1, b: 2 });
    f({ b: 1, a: 2 });
    expect(f.programs).toBe(1);
  });
});

describe("choice of engine", () => {
  it("refuses unknown engines and devices", () => {
    expect(codeOf(() => setEngine("xlaa" as "xla"))).toBe("ENGINE_UNKNOWN");
    expect(codeOf(() => engineOf("cuda" as "xla"))).toBe("ENGINE_UNKNOWN");
    expect(codeOf(() => put(1, { engine: "wasm", device: 7 }))).toBe("DEVICE_UNKNOWN");
  });

  it("says which element types wasm has not", () => {
    expect(codeOf(() => put(1, { engine: "wasm", dtype: "bf16" }))).toBe("DTYPE_UNSUPPORTED");
    const f = compile((x: Value) => x, { engine: "wasm" });
    expect(codeOf(() => put(Float64Array.of(1), { engine: "wasm", dtype: "f64" }))).toBe("DTYPE_UNSUPPORTED");
    expect(codeOf(() => f(BigInt64Array.of(1n) as never))).toBe("ARGUMENT_INVALID");
    expect(codeOf(() => put(BigInt64Array.of(1n) as never, { engine: "wasm" }))).toBe("ARGUMENT_INVALID");
  });

  it("takes doubles as f32 where the engine has no f64, by every way in", async () => {
    const doubles = Float64Array.of(0.1, -2, 1e300);
    const rounded = Float32Array.from(doubles);
    const given = put(doubles, { engine: "wasm" });
    expect(given.dtype).toBe("f32");
    expect(await given.read()).toEqual(rounded);
    const f = compile((x: Value) => add(x, asValue(doubles)), { engine: "wasm" });
    for (const again of [f(doubles), f(doubles), f(given)]) {
      expect(again.dtype).toBe("f32");
      expect(await again.read()).toEqual(rounded.map((x) => 2 * x));
    }
  });

  it.runIf(testEngines().includes("xla"))("keeps doubles as f64 on xla", async () => {
    const kept = put(Float64Array.of(0.1), { engine: "xla" });
    expect([kept.dtype, (await kept.read())[0]]).toEqual(["f64", 0.1]);
  });

  it("refuses positions of static and donated arguments that are none", () => {
    const of = (options: { static?: number[]; donate?: (number | string)[] }) =>
      compile((x: Value, n: unknown) => add(x, asValue(n)), { ...options, engine: "wasm" });
    expect(codeOf(() => of({ donate: ["x"] })(1, 2))).toBe("ARGUMENT_INVALID");
    for (const wrong of [-1, 0.5, 2]) {
      expect(codeOf(() => of({ static: [wrong] })(1, 2))).toBe("ARGUMENT_INVALID");
      expect(codeOf(() => of({ donate: [wrong] })(1, 2))).toBe("ARGUMENT_INVALID");
    }
    expect(codeOf(() => of({ static: [1] })(1, 2))).toBe("no error");
  });

  it("takes a number for the shape of one axis", () => {
    expect(
      put(
        [
          [1, 2],
          [3, 4],
        ],
        { engine: "wasm", shape: 4 },
      ).shape,
    ).toEqual([4]);
  });

  it("refuses what is no shape, no element type and no array it knows", () => {
    const of = (options: object, data: unknown = new Float32Array(4)) =>
      codeOf(() => put(data as Float32Array, { engine: "wasm", ...options }));
    for (const shape of [[2.5, 1.6], [-2, -2], 2.5]) expect(of({ shape })).toBe("SHAPE_INVALID");
    expect(of({ dtype: "float32" })).toBe("DTYPE_UNKNOWN");
    expect(of({}, new Int16Array(4))).toBe("ARGUMENT_INVALID");
    expect(() => put(new Int16Array(4) as unknown as Int32Array)).toThrow(/Int16Array/);
  });

  it("refuses ragged arrays and shapes that do not fit", () => {
    expect(codeOf(() => put([[1, 2], [3]], { engine: "wasm" }))).toBe("SHAPE_MISMATCH");
    expect(codeOf(() => put(new Float32Array(3), { engine: "wasm", shape: [2, 2] }))).toBe("SHAPE_MISMATCH");
  });

  it.runIf(testEngines().includes("xla"))(
    "uses other devices of an engine, and refuses to mix them",
    async () => {
      const list = devices("xla");
      expect(list.length).toBeGreaterThan(1);
      const x = put(Float32Array.of(1, 2), { engine: "xla", device: 1 });
      const f = compile((v: Value) => add(v, v));
      const y = f(x);
      expect(y.device).toBe(list[1]);
      expect([...(await y.read())]).toEqual([2, 4]);
      expect([...(await f(put(Float32Array.of(3, 4), { engine: "xla" })).read())]).toEqual([6, 8]);
      expect(f.programs).toBe(2);
      const both = compile((a: Value, b: Value) => add(a, b));
      expect(codeOf(() => both(x, put(Float32Array.of(1, 2), { engine: "xla" })))).toBe("DEVICE_MISMATCH");
    },
  );

  it.runIf(testEngines().includes("xla"))("refuses tensors of another device used by closure", async () => {
    const onWasm = put([1, 2], { engine: "wasm" });
    const onXla = put([3, 4], { engine: "xla" });
    const onSecond = put([5, 6], { engine: "xla", device: 1 });
    const message =
      /f32\[2\], a tensor used inside the function, is on (wasm|xla):\d, but the function runs on/;
    expect(() => compile((x: Value) => add(x, asValue(onXla)))(onWasm)).toThrow(message);
    expect(() => compile((x: Value) => add(x, asValue(onWasm)))(onXla)).toThrow(message);
    const f = compile((x: Value) => add(x, asValue(onSecond)));
    expect(codeOf(() => f(onXla))).toBe("DEVICE_MISMATCH");
    expect([...(await onWasm.read()), ...(await onXla.read()), ...(await onSecond.read())]).toEqual([
      1, 2, 3, 4, 5, 6,
    ]);
    expect([...(await f(onSecond).read())]).toEqual([10, 12]);
  });
});
