import { grad, scan, type Value, vmap } from "../../index.ts";
import { type Dense, dense, expectAllSame, stacked, unstacked, varied } from "../dense.test-support.ts";
import { add, apply, applyRow, constant, mul, sin, tanh, total } from "../run.test-support.ts";
import { sampler } from "../sampler.test-support.ts";
import type { Check } from "./index.test-support.ts";

const random = sampler(11);
const vector = random.numbers("f32", [3]);
const matrix = random.numbers("f32", [3, 3], -0.8, 0.8);
const rows = random.numbers("f32", [4, 3]);
const steps = 4;

const close = { tolerance: 1e-4, floor: 1 };
const by = { argnums: [0, 1, 2] } as const;
const step = (w: Value, c: Value, x: Value): Value => tanh(add(apply(w, c), mul(x, sin(c))));
const slice = (xs: Value, i: number): Value => {
  const starts = [i, 0];
  const part = applyRow("slice", [xs], { starts, limits: [i + 1, 3], strides: [1, 1] })[0] as Value;
  return applyRow("reshape", [part], { shape: [3] })[0] as Value;
};

type Loss = (c: Value, w: Value, xs: Value) => Value;

/** The last carry and all results count, each differently. */
const looped =
  (reverse: boolean, length?: Value): Loss =>
  (c, w, xs) => {
    const options = length ? { reverse, length } : { reverse };
    const [last, ys] = scan((v: Value, x: Value) => [step(w, v, x), mul(v, x)], c, xs, options);
    return add(total(mul(last, last)), total(sin(ys)));
  };

const unrolled =
  (reverse: boolean, length = steps): Loss =>
  (c, w, xs) => {
    let v = c;
    let sum = constant(0, c.dtype);
    for (let k = 0; k < length; k++) {
      const x = slice(xs, reverse ? length - 1 - k : k);
      sum = add(sum, total(sin(mul(v, x))));
      v = step(w, v, x);
    }
    return add(total(mul(v, v)), sum);
  };

/** One number from all first derivatives, for the second ones. */
const mix =
  (loss: Loss): Loss =>
  (c, w, xs) =>
    grad(loss, by)(c, w, xs)
      .map((g, i) => total(mul(g, sin(add(g, constant(i, g.dtype, g.shape))))))
      .reduce(add);

const againstUnrolled: Check = async ({ run }) => {
  for (const reverse of [false, true]) {
    const both = await run(
      (c, w, xs) => [looped(reverse), unrolled(reverse)].flatMap((loss) => grad(loss, by)(c, w, xs)),
      vector,
      matrix,
      rows,
    );
    const name = `gradient of a scan${reverse ? ", reversed" : ""}, against the loop written out`;
    expectAllSame(name, both.slice(0, 3), both.slice(3), close);
  }
};

const second: Check = async ({ run }) => {
  const both = await run(
    (c, w, xs) => [looped(false), unrolled(false)].flatMap((loss) => grad(mix(loss), by)(c, w, xs)),
    vector,
    matrix,
    rows,
  );
  expectAllSame(
    "second derivatives of a scan, against the loop written out",
    both.slice(0, 3),
    both.slice(3),
    close,
  );
};

const counted: Check = async ({ compiled }) => {
  const slopes = compiled((c, w, xs, n) => [...grad(looped(false, n), by)(c, w, xs)]);
  for (const n of [0, 1, 3, 4]) {
    const expected = compiled((c, w, xs) => [...grad(unrolled(false, n), by)(c, w, xs)]);
    // Steps that did not run leave results of 0, whose sine adds nothing.
    const results = await slopes(vector, matrix, rows, dense("i32", [], [n]));
    expectAllSame(
      `gradient of a scan of run-time length ${n}`,
      results,
      await expected(vector, matrix, rows),
      close,
    );
  }
};

const mapped: Check = async ({ run, compiled }) => {
  const slopes = (c: Value, w: Value, xs: Value) => grad(looped(false), by)(c, w, xs);
  const single = compiled((c, w, xs) => [...slopes(c, w, xs)]);
  for (const inAxes of [
    [0, 0, 0],
    [0, null, 0],
    [null, 0, null],
  ]) {
    const inputs = [vector, matrix, rows];
    const stacks = inputs.map((input, i) => (inAxes[i] === 0 ? stacked([input, varied(input, 2)]) : input));
    const results = await run((c, w, xs) => [...vmap(slopes, { inAxes })(c, w, xs)], ...stacks);
    for (const e of [0, 1]) {
      const one = inputs.map((input, i) => (inAxes[i] === 0 && e === 1 ? varied(input, 2) : input));
      const parts = results.map((result) => unstacked(result)[e] as Dense);
      expectAllSame(`vmap of a scan's gradient, example ${e}`, parts, await single(...one), close);
    }
  }
};

/** Gradients of a mapped scan: examples side by side, summed. */
const ofMapped: Check = async ({ run }) => {
  const stack = stacked([vector, varied(vector, 1)]);
  const sum = (loss: Loss) => (c: Value, w: Value, xs: Value) =>
    total(vmap(loss, { inAxes: [0, null, null] })(c, w, xs));
  const both = await run(
    (c, w, xs) => [looped(false), unrolled(false)].flatMap((loss) => grad(sum(loss), by)(c, w, xs)),
    stack,
    matrix,
    rows,
  );
  expectAllSame("gradient of a mapped scan", both.slice(0, 3), both.slice(3), close);
};

const nestedLoops: Check = async ({ run }) => {
  const inner = (w: Value, c: Value, x: Value) =>
    scan((v: Value) => [step(w, v, x), null], c, undefined, { length: 2 })[0];
  const twice = (w: Value, c: Value, x: Value) => step(w, step(w, c, x), x);
  const loss =
    (body: typeof inner): Loss =>
    (c, w, xs) =>
      total(scan((v: Value, x: Value) => [body(w, v, x), null], c, xs)[0]);
  const both = await run(
    (c, w, xs) => [loss(inner), loss(twice)].flatMap((f) => grad(f, by)(c, w, xs)),
    vector,
    matrix,
    rows,
  );
  expectAllSame("gradient of nested scans", both.slice(0, 3), both.slice(3), close);
};

export const scanGradientChecks: Readonly<Record<string, Check>> = {
  "by carry, captures and slices, against the loop written out": againstUnrolled,
  "second derivatives, against the loop written out": second,
  "with a run-time length": counted,
  "under vmap": mapped,
  "of a mapped scan": ofMapped,
  "of one inside another": nestedLoops,
};
