import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EspalierError } from "../core/index.ts";
import { type Bookmark, Dataset, interleave, isRowError, type Pass, passOf, passOver } from "./dataset.ts";
import { datasetFromRecipe, fromModule } from "./recipe.ts";
import { fromArrays, fromAsyncIterable, fromIterable, zip } from "./sources.ts";

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
  } catch (error) {
    return (error as EspalierError).code;
  }
  return undefined;
};
const rejection = (promise: Promise<unknown>): Promise<EspalierError> =>
  promise.then(
    () => expect.fail("it did not throw"),
    (error) => error as EspalierError,
  );

const numbers = (n: number, from = 0): number[] => Array.from({ length: n }, (_, i) => from + i);
const streamOf = (n: number, from = 0): Dataset<number> =>
  fromAsyncIterable(async function* () {
    yield* numbers(n, from);
  });

/** What a reader gives to the end, row errors as "bad". */
async function read(data: Dataset<unknown>, pass: Pass, from?: Bookmark, most = Number.POSITIVE_INFINITY) {
  const reader = data.open(pass, from);
  const rows: unknown[] = [];
  while (rows.length < most) {
    try {
      const item = await reader.next();
      if (!item) break;
      rows.push(item);
    } catch (error) {
      if (!isRowError(error)) throw error;
      rows.push("bad");
    }
  }
  const bookmark = JSON.parse(JSON.stringify(reader.bookmark())) as Bookmark;
  await reader.close();
  return { rows, bookmark };
}

/** Datasets of all combinators, within each other. */
const { data: datasets } = fc.letrec<{ data: Dataset<unknown>; base: Dataset<unknown> }>((tie) => ({
  base: fc.oneof(
    fc.nat(12).map((n) => fromIterable(numbers(n))),
    fc.nat(12).map((n) => streamOf(n, 100)),
  ),
  data: fc.oneof(
    { maxDepth: 4, depthSize: "large" },
    tie("base"),
    tie("data").map((d) => d.map((row, { random }) => [row, random.integer(1000)])),
    tie("data").map((d) => d.map((row, { index }) => {
      if (index % 5 === 3) throw new Error("no good");
      return row;
    })), // biome-ignore format: one case
    tie("data").map((d) => d.filter((_row, { random }) => random.uniform() < 0.7)),
    fc.tuple(tie("data"), fc.integer({ min: 1, max: 6 })).map(([d, buffer]) => d.shuffle({ buffer })),
    fc.tuple(tie("data"), fc.integer({ min: 1, max: 4 })).map(([d, size]) => d.batch(size)),
    fc.tuple(tie("data"), fc.nat(10)).map(([d, n]) => d.take(n)),
    fc.tuple(tie("data"), tie("data")).map(([a, b]) => a.concat(b)),
    fc.array(tie("data"), { minLength: 1, maxLength: 3 }).map(interleave),
  ),
}));

describe("a reader", () => {
  it("goes on from a bookmark with the same rows, wherever it was cut", async () => {
    await fc.assert(
      fc.asyncProperty(datasets, fc.nat(20), fc.nat(5), fc.nat(9), async (data, cut, again, seed) => {
        const pass = passOf(seed, 3);
        const whole = await read(data, pass);
        const first = await read(data, pass, undefined, cut);
        const second = await read(data, pass, first.bookmark, again);
        const rest = await read(data, pass, second.bookmark);
        expect([...first.rows, ...second.rows, ...rest.rows]).toEqual(whole.rows);
      }),
      { numRuns: 300 },
    );
  });

  it("passes over rows as if they had been read", async () => {
    await fc.assert(
      fc.asyncProperty(datasets, fc.nat(9), fc.nat(9), async (data, first, second) => {
        const pass = passOf(1);
        const { rows } = await read(data, pass);
        fc.pre(!rows.slice(0, first + second + 1).includes("bad"));
        const reader = data.open(pass);
        expect(await passOver(reader, first)).toBe(Math.min(first, rows.length));
        expect(await reader.next()).toEqual(rows[first]);
        expect(await passOver(reader, second)).toBe(Math.min(second, Math.max(0, rows.length - first - 1)));
        const rest = await read(data, pass, reader.bookmark());
        expect(rest.rows).toEqual(rows.slice(first + 1 + second));
      }),
      { numRuns: 200 },
    );
  });

  it("gives the rows that get gives by number, in whatever order", async () => {
    const data = fromIterable(numbers(20)).map((row, { random }) => [row, random.uniform()]);
    const pass = passOf(4, 2);
    const { rows } = await read(data.shuffle().take(15), pass);
    const shuffled = data.shuffle();
    for (const i of [14, 3, 0, 9])
      expect(rows[i]).toEqual({ value: await shuffled.get(i, pass), index: shuffled.rowOf(i, pass) });
  });

  it("refuses a bookmark of something else", () => {
    const data = fromIterable(numbers(3));
    expect(codeOf(() => data.open(passOf(0), { at: 1 }))).toBe("STATE_MISMATCH");
    expect(codeOf(() => data.open(passOf(0), { row: -1 }))).toBe("STATE_MISMATCH");
  });
});

describe("the random numbers of a row", () => {
  it("follow from the pass and the row, and differ between the two, and between steps", async () => {
    const draw = (d: Dataset<unknown>) => d.map((_row, { random }) => random.seed());
    const data = draw(fromIterable(numbers(50)));
    const rows = await Promise.all(numbers(50).map((i) => data.get(i, passOf(1, 0))));
    expect(new Set(rows).size).toBe(50);
    expect(await data.get(7, passOf(1, 1))).not.toBe(rows[7]);
    const stream = await read(draw(streamOf(50)), passOf(1, 0));
    expect(stream.rows.map((item) => (item as { value: number }).value)).toEqual(rows);
    const both = fromIterable([0])
      .map((_row, { random }) => random.seed())
      .map((first, { random }) => [first, random.seed()]);
    const [first, second] = await both.get(0);
    expect(first).not.toBe(second);
  });

  it("stay with the row in a part of the set", async () => {
    const draw = (d: Dataset<number>) => d.map((row, { random }) => [row, random.seed()] as const);
    const whole = new Map(await collect(draw(fromIterable(numbers(20)))));
    const { test } = fromIterable(numbers(20)).split({ train: 0.5, test: 0.5 });
    for (const [row, seed] of await collect(draw(test))) expect(seed).toBe(whole.get(row));
  });
});

async function collect<T>(data: Dataset<T>): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of data) rows.push(row);
  return rows;
}

describe("shuffled rows", () => {
  it("are all there, in another order each epoch, streams block by block", async () => {
    for (const data of [fromIterable(numbers(100)), streamOf(100)]) {
      const orders = await Promise.all(
        [0, 1].map(async (epoch) => (await read(data.shuffle({ buffer: 30 }), passOf(1, epoch))).rows),
      );
      const [one, two] = orders.map((rows) => rows.map((item) => (item as { value: number }).value));
      expect(one?.toSorted((a, b) => a - b)).toEqual(numbers(100));
      expect(one).not.toEqual(two);
      const crossed = one?.filter((row, at) => Math.floor(row / 30) !== Math.floor(at / 30)).length ?? 0;
      if (data.length === undefined) {
        expect(crossed).toBe(0);
        expect(one?.slice(30, 60).map((row) => row - 30)).not.toEqual(one?.slice(0, 30));
      } else expect(crossed).toBeGreaterThan(30);
    }
  });
});

describe("parts of a set", () => {
  it("are disjoint, complete, of the sizes asked for, and follow from the seed", () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 200 }), fc.nat(5), fc.boolean(), (n, seed, stratified) => {
        const data = fromIterable(numbers(n));
        const options = { seed, ...(stratified && { stratify: (row: number) => row % 3 }) };
        const parts = data.split({ train: 0.7, validation: 0.2, test: 0.1 }, options);
        const rows = Object.values(parts).map((part) => numbers(part.length ?? 0).map((i) => part.rowOf(i)));
        expect(rows.flat().toSorted((a, b) => a - b)).toEqual(numbers(n));
        for (const [i, share] of [0.7, 0.2, 0.1].entries()) {
          expect(Math.abs((rows[i]?.length ?? 0) - share * n)).toBeLessThan(1.01);
          if (!stratified) continue;
          for (const k of [0, 1, 2]) {
            const [inPart = 0, inAll] = [
              rows[i]?.filter((row) => row % 3 === k).length,
              Math.ceil((n - k) / 3),
            ];
            expect(Math.abs(inPart - share * inAll)).toBeLessThan(2.01);
          }
        }
        const again = data.split({ train: 0.7, validation: 0.2, test: 0.1 }, options);
        expect(numbers(again.test.length ?? 0).map((i) => again.test.rowOf(i))).toEqual(rows[2]);
      }),
      { numRuns: 60 },
    );
  });

  it("are folds in which each row is validated with once, the classes in all of them", () => {
    const labels = numbers(31).map((i) => (i < 6 ? "rare" : "common"));
    const folds = fromIterable(numbers(31)).kFold(3, { seed: 2, stratify: labels });
    const rowsOf = (part: Dataset<number>) => numbers(part.length ?? 0).map((i) => part.rowOf(i));
    expect(folds.flatMap(({ validation }) => rowsOf(validation)).toSorted((a, b) => a - b)).toEqual(
      numbers(31),
    );
    for (const { train, validation } of folds) {
      expect([...rowsOf(train), ...rowsOf(validation)].toSorted((a, b) => a - b)).toEqual(numbers(31));
      expect(rowsOf(validation).filter((row) => row < 6)).toHaveLength(2);
    }
  });

  it("cannot be had of streams, of too few rows, or with shares that make no whole", () => {
    expect(codeOf(() => streamOf(9).split({ a: 0.5, b: 0.5 }))).toBe("DATA_NOT_INDEXED");
    expect(codeOf(() => fromIterable([1]).split({ a: 0.5, b: 0.5 }))).toBe("DATA_TOO_SMALL");
    expect(codeOf(() => fromIterable([1, 2]).kFold(3))).toBe("DATA_TOO_SMALL");
    expect(codeOf(() => fromIterable([1, 2]).split({ a: 0.5, b: 0.4 }))).toBe("OPTION_INVALID");
    expect(codeOf(() => fromIterable([1, 2]).split({ a: 0.5, b: 0.5 }, { stratify: [1] }))).toBe(
      "OPTION_INVALID",
    );
    const named = fromIterable([{ kind: "cat" }, { kind: "dog" }]);
    expect(() => named.split({ a: 0.5, b: 0.5 }, { stratify: (row) => Reflect.get(row, "kin") })).toThrow(
      /row 0 of rows is undefined.*OPTION_INVALID/s,
    );
    const slow = fromIterable([1, 2]).map(async (row) => row);
    expect(codeOf(() => slow.split({ a: 0.5, b: 0.5 }, { stratify: (row) => row }))).toBe("OPTION_INVALID");
  });
});

describe("a source", () => {
  it("of arrays gives examples with shapes and types, and arrays again", async () => {
    const x = { image: { data: Float32Array.from(numbers(12)), shape: [3, 2, 2] }, size: [[1, 2], [3, 4], [5, 6]] }; // biome-ignore format: a table
    const data = fromArrays({ x, y: Int32Array.of(7, 8, 9) });
    expect(data.get(1)).toEqual({
      x: {
        image: { data: Float32Array.of(4, 5, 6, 7), shape: [2, 2] },
        size: { data: Float32Array.of(3, 4), shape: [2] },
      },
      y: { data: Int32Array.of(8), shape: [] },
    });
    expect(await data.select([2, 0]).toArrays()).toEqual({
      x: {
        image: { data: Float32Array.of(8, 9, 10, 11, 0, 1, 2, 3), shape: [2, 2, 2] },
        size: { data: Float32Array.of(5, 6, 1, 2), shape: [2, 2] },
      },
      y: { data: Int32Array.of(9, 7), shape: [2] },
    });
    const rows = Int32Array.of(0, 1, 0);
    const { train } = fromArrays({ x, y: Int32Array.of(7, 8, 9) }).split({ train: 0.67, rest: 0.33 });
    const picked = await train.select(rows).toArrays();
    expect(train.take(2).gather(rows)).toEqual(picked);
    const holes = fromArrays({ x: [[1, 2], [3, Number.POSITIVE_INFINITY]] }); // biome-ignore format: a table
    expect(holes.gather(Int32Array.of(0, 1))).toBeUndefined();
    expect(holes.gather(Int32Array.of(0, 0))).toEqual({
      x: { data: Float32Array.of(1, 2, 1, 2), shape: [2, 2] },
    });
    expect(data.map((row) => row).gather(rows)).toBeUndefined();
    expect(codeOf(() => fromArrays({ x: [1, 2], y: [1] }))).toBe("DATA_LENGTH");
    expect(codeOf(() => fromArrays({ x: [] }))).toBe("DATA_EMPTY");
    expect(codeOf(() => fromArrays({ x: [[1, 2], [3]] }))).toBe("DATA_RAGGED");
  });

  it("that throws is named with the row, and the reader has ended", async () => {
    const data = fromIterable(function* () {
      yield 1;
      throw new Error("the disk is gone");
    }, "disk").map((row) => row);
    const reader = data.open();
    await reader.next();
    const error = await rejection(reader.next());
    expect(error.code).toBe("DATA_SOURCE_FAILED");
    expect(error.message).toMatch(/disk, at row 1: the disk is gone/);
  });

  it("that can be run through once says so the second time", async () => {
    const once = (function* () {
      yield* [1, 2];
    })();
    const data = fromIterable(once);
    expect(await collect(data)).toEqual([1, 2]);
    expect((await rejection(collect(data))).code).toBe("DATA_SPENT");
    // Their iterators are others than they are.
    for (const stream of [Readable.from([1, 2]), new Blob(["ab"]).stream()]) {
      const ofStream = fromAsyncIterable<unknown>(stream as AsyncIterable<unknown>);
      expect((await collect(ofStream)).length).toBeGreaterThan(0);
      expect((await rejection(collect(ofStream))).code).toBe("DATA_SPENT");
    }
    expect((await rejection(collect(fromIterable(() => Object(5))))).code).toBe("DATA_INVALID");
  });

  it("that is closed early ends its iterable", async () => {
    let closed = 0;
    const data = fromAsyncIterable(async function* () {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        closed++;
      }
    });
    expect(await collect(data.take(2).batch(2))).toEqual([[0, 1]]);
    for await (const row of data) if (row === 3) break;
    expect(closed).toBe(2);
  });

  it("of several datasets side by side has rows of all", async () => {
    const rows = zip({ a: fromIterable([1, 2]), b: fromIterable(["x", "y"]).map(async (row) => row) });
    expect(await collect(rows)).toEqual([{ a: 1, b: "x" }, { a: 2, b: "y" }]); // biome-ignore format: a table
    expect(codeOf(() => zip({ a: fromIterable([1, 2]), b: fromIterable([1]) }))).toBe("DATA_LENGTH");
  });

  it("and methods refuse what they cannot use, before anything is read", () => {
    const data = fromIterable([1, 2]);
    const nothing = Object(0);
    for (const call of [
      () => new Dataset(nothing),
      () => data.map(nothing),
      () => data.filter(nothing),
      () => data.concat(nothing),
      () => data.select(nothing),
      () => data.split(nothing),
      () => data.transform(nothing),
      () => interleave(nothing),
      () => interleave([]),
      () => zip(nothing),
    ])
      expect(codeOf(call), String(call)).toBe("OPTION_INVALID");
  });

  it("by a program needs get or open", () => {
    expect(codeOf(() => new Dataset({ name: "nothing" }))).toBe("DATA_INVALID");
    expect(codeOf(() => fromIterable([1]).get(1))).toBe("DATA_INDEX");
    expect(codeOf(() => fromIterable([1]).select([0.5]))).toBe("DATA_INDEX");
    expect(codeOf(() => streamOf(1).get(0))).toBe("DATA_NOT_INDEXED");
  });
});

describe("a row that cannot be used", () => {
  it("is named, and the reader goes on behind it", async () => {
    const data = fromIterable(numbers(3), "three").map((row) => {
      if (row === 1) throw new EspalierError("LABEL_UNKNOWN", "no such label", { fix: "add it" });
      return row;
    });
    const error = await rejection(collect(data));
    expect([error.code, (error.cause as EspalierError).code, error.fix]).toEqual([
      "DATA_ROW_INVALID",
      "LABEL_UNKNOWN",
      "add it",
    ]);
    expect(error.message).toMatch(/three, row 1: no such label \[DATA_ROW_INVALID\]/);
    expect((await read(data, passOf(0))).rows).toHaveLength(3);
  });

  it("is found where examples become arrays: ragged, not finite, no example, none at all", async () => {
    const arraysOf = (rows: readonly unknown[]) =>
      rejection(fromIterable(rows as readonly { x: number[] }[], "rows").toArrays());
    const ragged = await arraysOf([{ x: [1, 2] }, { x: [1] }]);
    expect(ragged.code).toBe("DATA_RAGGED");
    expect(ragged.message).toMatch(/rows, row 1: x has the shape \[1\] and not \[2\]/);
    const nan = await arraysOf([{ x: [1, 2] }, { x: [1, Number.NaN] }]);
    expect(nan.code).toBe("DATA_NOT_FINITE");
    expect(nan.message).toMatch(/rows, row 1: x is NaN, number 1 of its 2/);
    expect((await arraysOf([{ x: [1], y: 1 }, { x: [1] }])).message).toMatch(/row 1: y is missing/);
    expect((await arraysOf([{ x: [1] }, { x: [1], y: 1 }])).code).toBe("DATA_RAGGED");
    expect((await arraysOf([{ x: Int32Array.of(1) }, { x: [1] }])).code).toBe("DATA_RAGGED");
    expect((await arraysOf([{ x: ["a"] }])).code).toBe("DATA_RAGGED");
    expect((await arraysOf([{ age: 1 }])).code).toBe("DATA_INVALID");
    expect((await arraysOf([{ x: 1, weights: 2 }])).message).toMatch(/no "weights"; did you mean "weight"/);
    const more = await arraysOf([{ x: { a: 1 } }, { x: { a: 1, b: 2 } }]);
    expect([more.code, more.message]).toEqual([
      "DATA_RAGGED",
      expect.stringContaining("row 1: x.b is there"),
    ]);
    // Finite, but not as f32.
    expect((await arraysOf([{ x: [1] }, { x: [1e300] }])).message).toMatch(/row 1: x is 1e\+300/);
    expect((await arraysOf([])).code).toBe("DATA_EMPTY");
  });
});

describe("a recipe", () => {
  it("makes the same dataset again", async () => {
    const arrays = fromArrays({ x: numbers(20), y: Int32Array.from(numbers(20)) });
    const { train, rest } = arrays.split({ train: 0.6, rest: 0.4 }, { seed: 3 });
    const data = interleave([train.concat(rest.take(5)).shuffle({ seed: 4 }), arrays.take(3)]);
    const again = await datasetFromRecipe(structuredClone(data.recipe ?? expect.fail("no recipe")));
    expect((await read(again, passOf(5, 1))).rows).toEqual((await read(data, passOf(5, 1))).rows);
  });

  it("is there for no dataset with a function in it, and for modules", async () => {
    expect(
      fromArrays({ x: [1] })
        .map((row) => row)
        .take(1).recipe,
    ).toBeUndefined();
    expect(streamOf(3).recipe).toBeUndefined();
    const url = new URL("./dataset.test-support.ts", import.meta.url);
    const data = await fromModule<number>(url, { name: "countTo", options: { n: 4 } });
    expect(await collect(data)).toEqual([0, 2, 4, 6]);
    expect(await collect(await datasetFromRecipe<number>(data.recipe ?? expect.fail()))).toEqual([
      0, 2, 4, 6,
    ]);
    expect((await rejection(fromModule(url, { name: "other" }))).code).toBe("DATA_INVALID");
    const throws = new URL("data:text/javascript,export default () => { throw new Error('no disk'); }");
    expect(await rejection(fromModule(throws))).toMatchObject({
      code: "DATA_SOURCE_FAILED",
      message: expect.stringContaining('its export "default" failed: no disk'),
    });
    expect((await rejection(fromModule("./data.ts"))).code).toBe("OPTION_INVALID");
    expect((await rejection(fromModule(new URL("./no.ts", import.meta.url)))).code).toBe(
      "DATA_SOURCE_FAILED",
    );
    expect((await rejection(datasetFromRecipe({ kind: "toString", args: [] }))).code).toBe("DATA_INVALID");
  });
});
