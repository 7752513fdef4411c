import { describe, expect, expectTypeOf, it } from "vitest";
import { compile } from "../run/compile.ts";
import { testEngines } from "../run/engines.test-support.ts";
import { put } from "../run/put.ts";
import type { Value } from "../trace/value.ts";
import { scan } from "../transform/loops.ts";
import { vmap } from "../transform/vmap.ts";
import { draw } from "./draw.test-support.ts";
import { hostBits, hostFoldIn, hostKey, hostSplit } from "./host.ts";
import { foldIn, key, split, splitKeys } from "./key.ts";
import fixture from "./random.fixture.json" with { type: "json" };
import { bits } from "./uniform.ts";

describe.each(testEngines())("keys on %s", (engine) => {
  it("makes JAX's keys of seeds written down", () => {
    const made = compile(() => fixture.keys.map(({ seed }) => key(seed)), { engine })();
    expect(made.map((tensor) => [...tensor.readSync()])).toEqual(fixture.keys.map(({ values }) => values));
  });

  it.each([
    ["i32", 42, [0, 42]],
    ["i32", -1, [0, 4294967295]],
    ["u32", 4294967295, [0, 4294967295]],
    ["u8", 200, [0, 200]],
  ] as const)("makes JAX's key of a traced %s seed %i", (dtype, seed, words) => {
    const made = compile((s: Value) => key(s), { engine })(put(seed, { engine, dtype }));
    expect(made.type.text).toBe("u32[2]");
    expect([...made.readSync()]).toEqual(words);
  });

  it.each(fixture.split)("splits the key of $seed into JAX's $n keys", ({ seed, n, values }) => {
    expect(draw(engine, seed, (k) => splitKeys(k, n))).toEqual({ type: `u32[${n},2]`, values });
  });

  it("gives the keys one by one", () => {
    const [all, first, second] = compile(
      (k: Value) => {
        const [a, b] = split(k);
        return [splitKeys(k, 2), a, b];
      },
      { engine },
    )(put(hostKey(3), { engine }));
    expect([...(first?.readSync() ?? []), ...(second?.readSync() ?? [])]).toEqual([
      ...(all?.readSync() ?? []),
    ]);
  });

  it.each(fixture.foldIn)("folds $data into the key of $seed as JAX does", ({ seed, data, values }) => {
    expect(draw(engine, seed, (k) => foldIn(k, data))).toEqual({ type: "u32[2]", values });
    const traced = compile((k: Value, d: Value) => foldIn(k, d), { engine });
    const count = put(Uint32Array.of(data), { engine, shape: [] });
    expect([...traced(put(hostKey(seed), { engine }), count).readSync()]).toEqual(values);
  });

  it("takes keys from outside: tensors and host keys", () => {
    const tensor = put(hostKey(42), { engine });
    const made = compile(() => [splitKeys(tensor, 3), splitKeys(hostKey(42), 3)], { engine })();
    for (const keys of made) expect([...keys.readSync()]).toEqual(fixture.split[1]?.values);
  });

  it("gives each mapped key the bits it gives alone", () => {
    const mapped = draw(engine, 1, (k) => vmap((each: Value) => bits(each, [2, 3]))(splitKeys(k, 4)));
    expect(mapped.type).toBe("u32[4,2,3]");
    const alone = [0, 1, 2, 3].flatMap(
      (i) => draw(engine, 1, (k) => bits(split(k, 4)[i] as Value, [2, 3])).values,
    );
    expect(mapped.values).toEqual(alone);
  });

  it("folds mapped numbers into one key", () => {
    const steps = put(Int32Array.of(0, 1, 7), { engine });
    const mapped = compile((k: Value, s: Value) => vmap((step: Value) => foldIn(k, step))(s), { engine });
    const alone = [0, 1, 7].flatMap((step) => draw(engine, 42, (k) => foldIn(k, step)).values);
    expect([...mapped(put(hostKey(42), { engine }), steps).readSync()]).toEqual(alone);
  });

  it("carries and folds keys through a loop", () => {
    const inLoop = draw(engine, 9, (k) => {
      const step = (carried: Value, _x: undefined, index: Value) => {
        const [next, now] = split(carried);
        return [next, bits(foldIn(now, index), [3])] as const;
      };
      return scan(step, k, undefined, { length: 4 })[1];
    });
    let carried = hostKey(9);
    const oneByOne = [0, 1, 2, 3].flatMap((index) => {
      const [next, now] = hostSplit(carried);
      carried = next;
      return [...hostBits(hostFoldIn(now, index), 3)];
    });
    expect(inLoop).toEqual({ type: "u32[4,3]", values: oneByOne });
  });

  it.each([
    ["f32[2]", new Float32Array(2)],
    ["u32[3]", new Uint32Array(3)],
    ["i32[2]", new Int32Array(2)],
  ])("refuses %s as a key", (type, data) => {
    expect(() => compile((k: Value) => bits(k, []), { engine })(put(data, { engine }))).toThrow(
      expect.objectContaining({
        code: "KEY_INVALID",
        message: expect.stringContaining(
          `bits: the key is ${type}, but a key is a u32[2], made by random.key(seed)`,
        ),
      }),
    );
  });

  it.each([
    ["a fractional seed", () => key(1.5), "SEED_INVALID"],
    ["a number of keys below zero", (k: Value) => splitKeys(k, -1), "ARGUMENT_INVALID"],
    ["a fraction to fold in", (k: Value) => foldIn(k, 0.5), "ARGUMENT_INVALID"],
    ["a vector as seed", (k: Value) => key(k), "SEED_INVALID"],
  ])("refuses %s", (_what, fn: (k: Value) => Value, code) => {
    expect(() => draw(engine, 0, fn)).toThrow(expect.objectContaining({ code }));
  });
});

describe("keys", () => {
  it("need a compiled function around them", () => {
    expect(() => key(0)).toThrow(expect.objectContaining({ code: "NOT_TRACING" }));
  });

  it("come as a tuple of the length asked for", () => {
    const count = 4 as number;
    expectTypeOf(split<2>).returns.toEqualTypeOf<[Value, Value]>();
    expectTypeOf((k: Value) => split(k, 3)).returns.toEqualTypeOf<[Value, Value, Value]>();
    expectTypeOf((k: Value) => split(k, count)).returns.toEqualTypeOf<Value[]>();
  });
});
