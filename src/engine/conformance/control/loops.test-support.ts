import { scan, type Value, vmap, whileLoop } from "../../index.ts";
import {
  build,
  type Dense,
  dense,
  element,
  expectAllSame,
  expectSame,
  stacked,
  unstacked,
  varied,
} from "../dense.test-support.ts";
import { add, apply, applyRow, constant, less, mul, rowOf, sin, tanh } from "../run.test-support.ts";
import { sampler } from "../sampler.test-support.ts";
import type { Check } from "./index.test-support.ts";

const random = sampler(7);
const vector = random.numbers("f32", [3]);
const matrix = random.numbers("f32", [3, 3], -0.8, 0.8);
const rows = random.numbers("f32", [4, 3]);
const whole = (n: number): Dense => dense("i32", [], [n]);

/** tanh(W c + x), and c as it was: something with a carry, slices, results and a capture. */
const cell = (w: Value) => (c: Value, x: Value) => [tanh(add(apply(w, c), x)), c] as const;

/** The same in plain TypeScript. */
function cellByHand(w: Dense, start: Dense, xs: Dense, reverse: boolean): readonly [last: Dense, all: Dense] {
  const slices = unstacked(xs);
  const kept: Dense[] = [];
  let c = start;
  for (let step = 0; step < slices.length; step++) {
    const at = reverse ? slices.length - 1 - step : step;
    const x = slices[at] as Dense;
    kept[at] = c;
    const before = c;
    c = build("f32", c.shape, ([i]) => {
      const sum = before.data.reduce((total, value, k) => total + element(w, [i as number, k]) * value, 0);
      return Math.tanh(sum + element(x, [i as number]));
    });
  }
  return [c, kept.length > 0 ? stacked(kept) : { dtype: "f32", shape: [0, ...start.shape], data: [] }];
}

const forwardAndBack: Check = async ({ run }) => {
  for (const reverse of [false, true])
    for (const length of [4, 1, 0]) {
      const xs = { ...rows, shape: [length, 3], data: rows.data.slice(0, length * 3) };
      const results = await run((c, w, x) => scan(cell(w), c, x, { reverse }), vector, matrix, xs);
      const name = `scan of length ${length}${reverse ? ", reversed" : ""}`;
      expectAllSame(name, results, cellByHand(matrix, vector, xs, reverse), { floor: 0.1 });
    }
};

const types: Check = async ({ run }) => {
  type Carry = readonly [count: Value, flag: Value, bytes: Value, empty: Value];
  const results = await run(
    (count, flag, bytes, empty, xs) => {
      const [carry, ys] = scan(
        ([n, f, b, e]: Carry, x: Value, index) => {
          const next: Carry = [add(n, index), applyRow("not", [f])[0] as Value, add(b, x), e];
          return [next, [f, x, e, n] as const];
        },
        [count, flag, bytes, empty] as Carry,
        xs,
      );
      return [...carry, ...ys];
    },
    whole(10),
    dense("bool", [2], [1, 0]),
    dense("u8", [2], [250, 3]),
    dense("f32", [0, 2], []),
    dense("u8", [3, 2], [1, 2, 3, 4, 5, 6]),
  );
  expectAllSame("scan over several types", results, [
    whole(13),
    dense("bool", [2], [0, 1]),
    dense("u8", [2], [3, 15]),
    dense("f32", [0, 2], []),
    dense("bool", [3, 2], [1, 0, 0, 1, 1, 0]),
    dense("u8", [3, 2], [1, 2, 3, 4, 5, 6]),
    dense("f32", [3, 0, 2], []),
    dense("i32", [3], [10, 10, 11]),
  ]);
};

/** A training loop: a state that reads its next batch from a table by its own count. */
const runTimeLength: Check = async ({ compiled }) => {
  const loop = compiled((n, c, at, w, table) => {
    const [[last, count], ys] = scan(
      ([v, i]: readonly [Value, Value]) => {
        const next = tanh(add(apply(w, sin(v)), rowOf(table, i)));
        return [[next, add(i, constant(1, "i32"))] as const, next];
      },
      [c, at] as const,
      undefined,
      { length: n, maxLength: 4 },
    );
    return [last, count, ys];
  });
  let [state, at] = [vector, whole(0)];
  const made: number[] = [];
  for (let n = 0; n <= 4; n++) {
    const exactly = { tolerance: 0 };
    const zeros = Array<number>(12 - made.length).fill(0);
    const fused = await loop(whole(n), vector, whole(0), matrix, rows);
    expectAllSame(
      `scan of ${n} steps at once, against one at a time`,
      fused,
      [state, at, dense("f32", [4, 3], [...made, ...zeros])],
      exactly,
    );
    const [next, count, ys] = (await loop(whole(1), state, at, matrix, rows)) as [Dense, Dense, Dense];
    [state, at] = [next, count];
    made.push(...ys.data.slice(0, 3));
  }
  const [beyond] = await loop(whole(9), vector, whole(0), matrix, rows);
  const [most] = await loop(whole(4), vector, whole(0), matrix, rows);
  expectSame("scan asked for more steps than there is room for", beyond as Dense, most as Dense, {
    tolerance: 0,
  });
};

const withoutResults: Check = async ({ run }) => {
  const results = await run(
    (c, n) => [
      scan((v: Value) => [mul(v, constant(2, "f32")), null], c, undefined, { length: n })[0],
      scan((v: Value) => [mul(v, constant(2, "f32")), null], c, undefined, { length: 3 })[0],
      scan((v: Value, _x: unknown, i) => [add(v, i), i], constant(0, "i32"), undefined, { length: 3 })[1],
    ],
    dense("f32", [], [1.5]),
    whole(20),
  );
  expectAllSame("scan without slices", results, [
    dense("f32", [], [1.5 * 2 ** 20]),
    dense("f32", [], [12]),
    dense("i32", [3], [0, 1, 2]),
  ]);
};

export const scanChecks: Readonly<Record<string, Check>> = {
  "carry, slices and results, either way": forwardAndBack,
  "every element type, and tensors without elements": types,
  "a run-time length gives the bits of that many single steps": runTimeLength,
  "without slices, and without a limit": withoutResults,
};

const mapped: Check = async ({ run, compiled }) => {
  const fn = (c: Value, w: Value, xs: Value) => scan(cell(w), c, xs);
  const single = compiled(fn);
  const inputs = [vector, matrix, rows];
  for (let bits = 1; bits < 8; bits++) {
    const is = (i: number) => ((bits >> i) & 1) === 1;
    const stacks = inputs.map((input, i) => (is(i) ? stacked([input, varied(input, 2)]) : input));
    const inAxes = inputs.map((_, i) => (is(i) ? 0 : null));
    const results = await run((c, w, xs) => vmap(fn, { inAxes })(c, w, xs), ...stacks);
    for (const e of [0, 1]) {
      const one = await single(...inputs.map((input, i) => (is(i) && e === 1 ? varied(input, 2) : input)));
      const name = `vmap of scan over ${inputs.map((_, i) => (is(i) ? "x" : "-")).join("")}, example ${e}`;
      expectAllSame(
        name,
        results.map((result) => unstacked(result)[e] as Dense),
        one,
        { floor: 0.1 },
      );
    }
  }
};

const nested: Check = async ({ run }) => {
  // Every step of the outer loop goes through all slices of the inner one, which captures both carries.
  const [sum, all] = (await run(
    (xs, ys) =>
      scan(
        (c: Value, x: Value) => [
          scan((d: Value, y: Value) => [add(d, mul(mul(x, y), c)), null], c, ys)[0],
          c,
        ],
        constant(1, "f32"),
        xs,
      ),
    dense("f32", [3], [1, -2, 0.5]),
    dense("f32", [2], [1, 0.5]),
  )) as [Dense, Dense];
  // c (1 + 1.5 x), step by step.
  expectSame("nested scan", sum, dense("f32", [], [-8.75]));
  expectSame("nested scan, results", all, dense("f32", [3], [1, 2.5, -5]));
};

export const scanNestingChecks: Readonly<Record<string, Check>> = {
  "under vmap, for each combination of mapped inputs": mapped,
  "one inside another": nested,
};

/** Multiplies until a limit, counting. */
const grow = (x: Value, by: Value, limit: Value): readonly [Value, Value] =>
  whileLoop(
    ([v]: readonly [Value, Value]) => less(v, limit),
    ([v, n]) => [mul(v, by), add(n, constant(1, "i32"))] as const,
    [x, constant(0, "i32")] as const,
  );

function growByHand(x: number, by: number, limit: number): readonly Dense[] {
  let [v, n] = [Math.fround(x), 0];
  while (v < limit) [v, n] = [Math.fround(v * by), n + 1];
  return [dense("f32", [], [v]), dense("i32", [], [n])];
}

const f32 = (...data: number[]): Dense => dense("f32", data.length === 1 ? [] : [data.length], data);

const values: Check = async ({ compiled }) => {
  const run = compiled((x, by, limit) => grow(x, by, limit));
  for (const [x, by, limit] of [
    [1, 2, 100],
    [3, 1.5, 20],
    [5, 2, 5],
  ] as const)
    expectAllSame(
      `whileLoop from ${x} by ${by} to ${limit}`,
      await run(f32(x), f32(by), f32(limit)),
      growByHand(x, by, limit),
    );
};

const mappedWhile: Check = async ({ run }) => {
  const inputs = [
    [1, 3],
    [2, 1.5],
    [100, 2],
  ] as const;
  for (let bits = 1; bits < 8; bits++) {
    const is = (i: number) => ((bits >> i) & 1) === 1;
    const given = inputs.map((pair, i) => (is(i) ? f32(...pair) : f32(pair[0])));
    const inAxes = inputs.map((_, i) => (is(i) ? 0 : null));
    const results = await run((x, by, limit) => vmap(grow, { inAxes })(x, by, limit), ...given);
    for (const e of [0, 1]) {
      const [x, by, limit] = inputs.map((pair, i) => (is(i) ? pair[e] : pair[0])) as [number, number, number];
      const parts = results.map((result) => unstacked(result)[e] as Dense);
      const name = `vmap of whileLoop over ${inputs.map((_, i) => (is(i) ? "x" : "-")).join("")}, example ${e}`;
      expectAllSame(name, parts, growByHand(x, by, limit));
    }
  }
};

const insideScan: Check = async ({ run }) => {
  const results = await run(
    (xs) =>
      scan(
        (c: Value, x: Value) => [add(c, x), [...grow(x, constant(2, "f32"), c)]],
        constant(4, "f32"),
        xs,
      )[1],
    f32(1, 3, 10),
  );
  const expected = [growByHand(1, 2, 4), growByHand(3, 2, 5), growByHand(10, 2, 8)];
  expectAllSame("whileLoop inside scan", results, [
    dense(
      "f32",
      [3],
      expected.map(([v]) => v?.data[0] as number),
    ),
    dense(
      "i32",
      [3],
      expected.map(([, n]) => n?.data[0] as number),
    ),
  ]);
};

export const whileChecks: Readonly<Record<string, Check>> = {
  "goes on while the condition holds, perhaps not once": values,
  "under vmap, examples ending at different times": mappedWhile,
  "inside a scan": insideScan,
};
