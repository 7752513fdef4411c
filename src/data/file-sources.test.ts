import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encode } from "fast-png";
import { afterAll, describe, expect, it, vi } from "vitest";
import { type EspalierError, node } from "../core/index.ts";
import { idx, npy, tokenFile, tokenWindows } from "./array-files.ts";
import { type Bookmark, type Dataset, passOf, passOver } from "./dataset.ts";
import { imageFolder } from "./images.ts";
import { createLoader } from "./loading/data-loader.ts";
import { parquet } from "./parquet.ts";
import { datasetFromRecipe } from "./recipe.ts";
import { fromIterable, zip } from "./sources.ts";
import { csv, jsonl, textFile } from "./text-files.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "espalier-data-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file with this content. */
function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, content);
  return path;
}

async function all<T>(data: Dataset<T>, from?: Bookmark): Promise<T[]> {
  const reader = data.open(passOf(0), from);
  const rows: T[] = [];
  for (let item = await reader.next(); item; item = await reader.next()) rows.push(item.value);
  return rows;
}

async function errorOf(work: Promise<unknown> | (() => unknown)): Promise<EspalierError> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    return error as EspalierError;
  }
  return expect.fail("it did not throw");
}

/** The code of the error, of its cause where it is about a row, and the first line. */
async function facts(work: Promise<unknown> | (() => unknown)) {
  const error = await errorOf(work);
  const cause = error.cause as EspalierError | undefined;
  return [error.code, cause?.code, error.message.split("\n")[0]] as const;
}

const table = Array.from({ length: 10 }, (_, i) => ({
  id: i,
  height: 0.5 + (1.5 * i) / 9,
  city: ["Oslo", "Köln", "Rome, Italy"][i % 3],
  tall: i > 5,
  note: i === 4 ? "none" : `n${i}`,
}));
const close = (rows: readonly { readonly height: unknown }[]) =>
  rows.map((row) => ({ ...row, height: Number(Number(row.height).toFixed(6)) }));

describe.each([
  ["csv", () => csv(fixture("table.csv"), { missing: { note: "none" }, types: { tall: "text" } })],
  ["parquet, snappy", () => parquet(fixture("snappy.parquet"), { missing: { note: "none" } })],
  ["parquet, gzip", () => parquet(fixture("gzip.parquet"), { missing: { note: "none" } })],
  ["parquet, plain", () => parquet(fixture("none.parquet"), { missing: { note: "none" } })],
  ["jsonl", () => jsonl<(typeof table)[number]>(fixture("table.jsonl"))],
] as const)("a table that pandas wrote as %s", (kind, make) => {
  it("is read as it was, from every bookmark, and from its recipe", async () => {
    const data = (make() as Dataset<(typeof table)[number]>).map((row) => ({
      ...row,
      tall: String(row.tall).toLowerCase() === "true",
      note: row.note ?? "none",
    }));
    expect(close(await all(data))).toEqual(close(table));
    const reader = data.open();
    for (let i = 0; i <= 10; i++) {
      const bookmark = JSON.parse(JSON.stringify(reader.bookmark())) as Bookmark;
      expect(close(await all(data, bookmark))).toEqual(close(table.slice(i)));
      const passing = data.open();
      expect(await passOver(passing, i)).toBe(i);
      expect(passing.bookmark()).toEqual(bookmark);
      expect(await passOver(passing, 20)).toBe(10 - i);
      await reader.next();
    }
    const again = await datasetFromRecipe<object>(structuredClone(make().recipe ?? expect.fail(kind)));
    expect(await all(again)).toEqual(await all<object>(make()));
  });
});

describe("a text file", () => {
  it("of many blocks goes on anywhere without reading what was before", async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `${"é".repeat(i % 40)}${i}`);
    for (const [name, end] of [
      ["unix.txt", "\n"],
      ["windows.txt", "\r\n"],
    ] as const) {
      const data = textFile(file(name, `\ufeff${lines.join(end)}${end}`));
      expect(await all(data)).toEqual(lines);
      const reader = data.open();
      for (let i = 0; i < 17_000; i++) await reader.next();
      const bookmark = reader.bookmark() as { readonly byte: number };
      expect(bookmark.byte).toBeGreaterThan(300_000);
      expect(await all(data, bookmark)).toEqual(lines.slice(17_000));
      const passing = data.open();
      expect(await passOver(passing, 17_000)).toBe(17_000);
      expect(passing.bookmark()).toEqual(bookmark);
    }
  });

  it("has its empty lines, the last line with or without an end, and lines longer than a block", async () => {
    const long = "x".repeat(700_000);
    expect(await all(textFile(file("a.txt", `a\n\n${long}\nb`)))).toEqual(["a", "", long, "b"]);
    expect(await all(textFile(file("empty.txt", "")))).toEqual([]);
  });

  it("that is not there or not UTF-8 is named", async () => {
    expect((await facts(() => textFile(join(folder, "no.txt"))))[0]).toBe("DATA_FILE_MISSING");
    const latin = textFile(file("latin.txt", Uint8Array.of(65, 0xe9, 10)));
    expect(await facts(all(latin))).toEqual([
      "DATA_SOURCE_FAILED",
      "DATA_INVALID",
      expect.stringMatching(/^latin\.txt, at row 0: .*UTF-8/),
    ]);
  });
});

describe("a jsonl file", () => {
  it("with a bad line names it, and goes on where it is left out", async () => {
    const data = jsonl(file("bad.jsonl", '{"a":1}\n\n{"a":\n{"a":3}\n'));
    const [code, , message] = await facts(all(data));
    expect([code, message]).toEqual(["DATA_ROW_INVALID", expect.stringMatching(/^bad\.jsonl, row 1: /)]);
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    expect(await all(data.skipBad())).toEqual([{ a: 1 }, { a: 3 }]);
    expect((await warned).message).toMatch(/^bad\.jsonl: 1 of .*bad\.jsonl, row 1/);
  });
});

describe("a csv file", () => {
  const read = (text: string, options?: Parameters<typeof csv>[1]) => all(csv(file("t.csv", text), options));

  it("has quoted cells, guessed and told types, other separators, and no header where one is given", async () => {
    expect(await read('a,b c,d\n1,"x,\n""y""",true\n-2.5e3,z,false\n')).toEqual([
      { a: 1, "b c": 'x,\n"y"', d: true },
      { a: -2500, "b c": "z", d: false },
    ]);
    expect(await read("zip,n\n01234,1\n", { types: { zip: "text" } })).toEqual([{ zip: "01234", n: 1 }]);
    expect(await read("1;2\n3;4", { header: ["a", "b"], separator: ";" })).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ]);
    expect(await read("a,b\n")).toEqual([]);
    expect(await read("zip,n\n01234,0\n98765,0.5\n")).toEqual([
      { zip: "01234", n: 0 },
      { zip: "98765", n: 0.5 },
    ]);
  });

  it("may begin with a byte order mark and with empty lines", async () => {
    for (const before of ["\uFEFF", "\n\r\n", "\uFEFF\n"])
      for (const names of ["a,b", '"a",b'])
        expect(await read(`${before}${names}\r\nx,y\r\n`)).toEqual([{ a: "x", b: "y" }]);
    expect(await read("\uFEFFx,y\n", { header: ["a", "b"] })).toEqual([{ a: "x", b: "y" }]);
  });

  it("of many blocks with line ends in cells goes on anywhere", async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ i, text: `line ${i}\nand "more", ${i}` }));
    const body = rows.map(({ i, text }) => `${i},"${text.replaceAll('"', '""')}"`).join("\r\n");
    const data = csv(file("blocks.csv", `i,text\r\n${body}`));
    expect(await all(data)).toEqual(rows);
    const reader = data.open();
    for (let i = 0; i < 15_000; i++) await reader.next();
    const fresh = csv(join(folder, "blocks.csv"));
    expect(await all(fresh, reader.bookmark())).toEqual(rows.slice(15_000));
  });

  it("with something wrong in it says where", async () => {
    expect(await facts(read("a,b\n1,2\n1\n"))).toEqual(["DATA_ROW_INVALID", "DATA_RAGGED", expect.stringMatching(/t\.csv, row 1: .*1 cells.*2 columns/)]); // biome-ignore format: facts
    expect(await facts(read("age,b\n1,2\n,2\n"))).toEqual(["DATA_ROW_INVALID", "DATA_MISSING", expect.stringMatching(/row 1: .*"age"/)]); // biome-ignore format: facts
    expect(await read("age,b\n1,2\nNA,2\n", { missing: { age: -1 } })).toEqual([{ age: 1, b: 2 }, { age: -1, b: 2 }]); // biome-ignore format: rows
    const words = `n\n${"1\n".repeat(200_000)}many\n`;
    expect(await facts(read(words))).toEqual(["DATA_ROW_INVALID", "DATA_INVALID", expect.stringMatching(/row 200000: .*"n" is "many"/)]); // biome-ignore format: facts
    expect(await facts(read("a,b\n1,2\n", { types: { ages: "text" } }))).toEqual(["DATA_SOURCE_FAILED", "DATA_COLUMN_UNKNOWN", expect.stringMatching(/"ages"/)]); // biome-ignore format: facts
    expect(await facts(read("a,b\n1,2\n", { missing: { ages: 0 } }))).toEqual(["DATA_SOURCE_FAILED", "DATA_COLUMN_UNKNOWN", expect.stringMatching(/"ages"/)]); // biome-ignore format: facts
    expect((await facts(async () => read("a,b\n1,2\n", { types: { a: "int" } as never })))[0]).toBe(
      "OPTION_INVALID",
    );
    expect(await facts(read('a,b\n1,2\n3,"4\n'))).toEqual(["DATA_SOURCE_FAILED", "DATA_INVALID", expect.stringMatching(/t\.csv, at row 1: Quote Not Closed/)]); // biome-ignore format: facts
    expect(await facts(read(`a,b\n${"1,2\n".repeat(200_000)}3,5" pipe\n`))).toEqual(["DATA_SOURCE_FAILED", "DATA_INVALID", expect.stringMatching(/t\.csv, at row 200000: Invalid Opening Quote.*"5"/)]); // biome-ignore format: facts
    expect((await facts(read("a,a\n1,2\n")))[2]).toMatch(/"a" is there twice/);
    expect((await facts(read("a,b\r1,2\r")))[2]).toMatch(/\\r alone/);
    expect((await facts(read("")))[0]).toBe("DATA_EMPTY");
    expect((await facts(csv(file("t.csv", "a\n")).inMemory()))[0]).toBe("DATA_EMPTY");
  });
});

describe("a parquet file", () => {
  it("gives the columns that are asked for, and names unknown ones, nulls and what is no such file", async () => {
    const rows = await all(parquet(fixture("snappy.parquet"), { columns: ["id", "city"] }));
    expect(rows[1]).toEqual({ id: 1, city: "Köln" });
    const wrong = parquet(fixture("snappy.parquet"), { columns: ["town"] });
    const absent = parquet(fixture("snappy.parquet"), { missing: { town: "" } });
    for (const each of [wrong, absent])
      expect((await facts(all(each))).slice(0, 2)).toEqual(["DATA_SOURCE_FAILED", "DATA_COLUMN_UNKNOWN"]);
    expect(await facts(all(parquet(fixture("snappy.parquet"))))).toEqual(["DATA_ROW_INVALID", "DATA_MISSING", expect.stringMatching(/snappy\.parquet, row 4: .*"note"/)]); // biome-ignore format: facts
    const cut = readFileSync(fixture("snappy.parquet")).subarray(0, 900);
    expect((await facts(all(parquet(file("broken.parquet", cut)).skipBad()))).slice(0, 1)).toEqual(["DATA_CORRUPT"]); // biome-ignore format: facts
  });

  it("with a damaged group names its rows, and loses those alone where they are left out", async () => {
    const bytes = readFileSync(fixture("snappy.parquet")).fill(255, 4, 300);
    const data = parquet(file("damaged.parquet", bytes), { missing: { note: "none" } });
    expect(await facts(all(data))).toEqual(["DATA_ROW_INVALID", "DATA_CORRUPT", expect.stringMatching(/^damaged\.parquet, row 0: rows 0 to 3 /)]); // biome-ignore format: facts
    const whole = await all(parquet(fixture("snappy.parquet"), { missing: { note: "none" } }));
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    expect(await all(data.skipBad())).toEqual(whole.slice(4));
    expect((await warned).message).toMatch(/^damaged\.parquet: 4 of .*rows 0 to 3/);
    const warnings: string[] = [];
    const examples = data.map(({ id }) => ({ x: [Number(id)] }));
    const warn = (text: string) => void warnings.push(text);
    const loader = createLoader(examples, { batchSize: 4, onBadExample: "skip", warn });
    const ids: number[] = [];
    for await (const { rows } of loader) ids.push(...rows);
    expect([ids, warnings]).toEqual([[4, 5, 6, 7, 8, 9], [expect.stringMatching(/: 4 examples of epoch 0/)]]);
  });
});

describe("an array that numpy saved", () => {
  it("is read row by row with its numbers and shapes", () => {
    const f4 = npy(fixture("f4.npy"));
    expect([f4.length, f4.get(2)]).toEqual([3, { data: expect.any(Float32Array), shape: [2, 2] }]);
    const saved = readFileSync(fixture("f4.npy"));
    const last = new Float32Array(saved.buffer.slice(saved.byteOffset + saved.length - 16, saved.byteOffset + saved.length)); // biome-ignore format: one array
    expect(f4.get(2)).toEqual({ data: last, shape: [2, 2] });
    expect(npy(fixture("f8.npy")).get(1)).toEqual({ data: Float32Array.of(0.25, 0.375), shape: [2] });
    expect(npy(fixture("i8.npy")).get(1)).toEqual({ data: Int32Array.of(-1), shape: [] });
    expect(npy(fixture("u1.npy")).get(0)).toEqual({ data: Uint8Array.of(1, 255), shape: [2] });
    expect(npy(fixture("big.npy")).get(1)).toEqual({ data: Float32Array.of(-2.25), shape: [] });
  });

  it("has rows that one call of the system cannot read", async () => {
    const path = file("big.idx", Uint8Array.of(0, 0, 8, 2, 0, 0, 0, 1, 0x80, 0, 0, 0));
    truncateSync(path, 12 + 2 ** 31); // No bytes on the disk.
    const data = idx(path);
    // Nor in memory, which is only touched where it is written.
    const read = vi.spyOn(node.fs, "readSync").mockImplementation((...call: unknown[]) => Number(call[3]));
    try {
      expect((await data.get(0)).data.length).toBe(2 ** 31);
      for (const call of read.mock.calls as unknown[][]) expect(call[3]).toBeLessThan(2 ** 31);
    } finally {
      read.mockRestore();
    }
  });

  it("says what is wrong with it", async () => {
    expect((await facts(() => npy(fixture("fortran.npy"))))[2]).toMatch(/fortran\.npy .*Fortran order/);
    const bytes = readFileSync(fixture("f8.npy"));
    expect((await facts(() => npy(file("cut.npy", bytes.subarray(0, -1)))))[0]).toBe("DATA_CORRUPT");
    expect((await facts(() => npy(file("no.npy", "something else"))))[0]).toBe("DATA_CORRUPT");
  });
});

describe("an idx file", () => {
  it("is read packed or not, images beside labels", async () => {
    const digits = zip({ x: idx(fixture("images-idx3-ubyte")), y: idx(fixture("labels-idx1-ubyte.gz")) });
    expect(await digits.toArrays()).toEqual({
      x: { data: Uint8Array.from({ length: 24 }, (_, i) => i), shape: [2, 3, 4] },
      y: { data: Uint8Array.of(7, 2), shape: [2] },
    });
    const again = await datasetFromRecipe(digits.recipe ?? expect.fail());
    expect(await again.get(1)).toEqual(await digits.get(1));
    expect((await facts(() => idx(file("x.gz", "no"))))[0]).toBe("DATA_CORRUPT");
    expect((await facts(() => idx(file("x", Uint8Array.of(0, 0, 8, 1, 0, 0, 0, 9)))))[0]).toBe(
      "DATA_CORRUPT",
    );
  });
});

describe("a folder of images", () => {
  const expected = JSON.parse(readFileSync(fixture("images.json"), "utf8")) as Record<string, number[]>;
  const folderOf = (options: Parameters<typeof imageFolder>[1]) =>
    imageFolder(fixture("images"), { dtype: "u8", ...options });
  const farthest = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
    expect(a.length).toBe(b.length);
    return Math.max(...Array.from(a, (value, i) => Math.abs(value - (b[i] as number))));
  };

  it("has classes by folder, sorted, and labels", async () => {
    const images = imageFolder(fixture("images"));
    expect(images.classes).toEqual(["jpeg", "png"]);
    expect([...images.labels]).toEqual([0, 0, 1, 1, 1, 1, 1, 1]);
    const { x, y } = await images.get(7);
    expect([x.shape, y]).toEqual([[10, 12, 3], { data: Int32Array.of(1), shape: [] }]);
    expect(
      farthest(
        x.data,
        (expected["RGBA color"] as number[]).map((n) => n / 255),
      ),
    ).toBeLessThan(1e-6);
    expect(images.split({ a: 0.5, b: 0.5 }, { stratify: images.labels }).a.length).toBe(4);
  });

  it.each(["1", "I16", "L", "P", "RGB", "RGBA"])("reads PNG of mode %s as Pillow does", async (mode) => {
    const index = 2 + ["1", "I16", "L", "P", "RGB", "RGBA"].indexOf(mode);
    const grey = await folderOf({ channels: 1 }).get(index);
    expect(farthest(grey.x.data, expected[`${mode} grey`] ?? [])).toBe(0);
    const color = await folderOf({}).get(index);
    expect(farthest(color.x.data, expected[`${mode} color`] ?? [])).toBe(0);
  });

  it("reads JPEG as Pillow does, to one level of 255", async () => {
    const { x } = await folderOf({}).get(0);
    expect(farthest(x.data, expected.jpeg ?? [])).toBeLessThanOrEqual(1);
    expect((await folderOf({ channels: 1 }).get(1)).x.shape).toEqual([10, 12, 1]);
  });

  it("resizes as Pillow does", async () => {
    for (const size of [
      [7, 5],
      [15, 24],
    ] as const) {
      // biome-ignore format: sizes
      const { x } = await folderOf({ size }).get(6);
      expect(farthest(x.data, expected[`bilinear ${size[0]}x${size[1]}`] ?? [])).toBeLessThanOrEqual(1);
    }
  });

  it("gives many at once with the numbers of each, and none where one of them cannot be used", async () => {
    for (const options of [{}, { dtype: "f32", channels: 1 }, { size: [7, 5] }] as const) {
      const images = folderOf(options);
      const rows = Int32Array.of(7, 0, 2);
      const { x, y } = (await images.gather(rows)) ?? expect.fail();
      const each = await Promise.all(Array.from(rows, (row) => images.get(row)));
      const [one] = each as [(typeof each)[0]];
      expect(x).toEqual({
        data: (one.x.data.constructor as typeof Uint8Array).from(each.flatMap(({ x }) => [...x.data])),
        shape: [3, ...one.x.shape],
      });
      expect(y).toEqual({ data: Int32Array.of(1, 0, 1), shape: [3] });
    }
    const color = readFileSync(fixture("images/png/RGB.png"));
    for (const name of ["a/1.png", "a/2.png"]) file(`broken/${name}`, color);
    file("broken/b/3.png", color.subarray(0, 60));
    const broken = imageFolder(join(folder, "broken"));
    expect(await broken.gather(Int32Array.of(0, 1))).toBeDefined();
    expect(await broken.gather(Int32Array.of(0, 2))).toBeUndefined();
    file("broken/b/3.png", encode({ width: 2, height: 2, data: new Uint8Array(12), channels: 3 }));
    expect(await broken.gather(Int32Array.of(0, 2))).toBeUndefined();
  });

  it("names a file that is no image, and leaves it out where told", async () => {
    const good = readFileSync(fixture("images/png/L.png"));
    for (const [name, bytes] of [
      ["a/1.png", good],
      ["a/2.png", good.subarray(0, 50)],
      ["b/1.png", good],
      ["b/2.jpg", readFileSync(fixture("images/jpeg/color.jpg")).subarray(0, 200)],
      ["b/3.jpg", new TextEncoder().encode("no image")],
    ] as const)
      file(`pets/${name}`, bytes);
    const pets = imageFolder(join(folder, "pets"), { size: 8 });
    for (const index of [1, 3, 4])
      expect(await facts(async () => pets.get(index))).toEqual([
        "DATA_ROW_INVALID",
        "DATA_CORRUPT",
        expect.stringMatching(
          new RegExp(`pets, row ${index}: .*${["", "a/2.png", "", "b/2.jpg", "b/3.jpg"][index]}`),
        ),
      ]);
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const rest = await pets.skipBad().inMemory();
    expect([rest.length, rest.rowOf(1)]).toEqual([2, 2]);
    expect((await warned).message).toMatch(/^pets: 3 of /);
    const again = await datasetFromRecipe(pets.recipe ?? expect.fail());
    expect(await again.get(0)).toEqual(await pets.get(0));
  });

  it("refuses PNG and JPEG in which a single bit is wrong, where the file can tell", async () => {
    for (const [name, from, at] of [
      ["1.png", "png/RGB.png", 70], // a checksum
      ["2.jpg", "jpeg/color.jpg", 628], // premature end of data segment
      ["3.jpg", "jpeg/color.jpg", 650], // bad Huffman code
    ] as const) {
      const bytes = readFileSync(fixture(`images/${from}`));
      bytes[at] = 1 ^ (bytes[at] as number);
      file(`damaged/a/${name}`, bytes);
    }
    for (const decoder of ["built-in", "jpeg-turbo"] as const) {
      const damaged = imageFolder(join(folder, "damaged"), { decoder });
      for (const index of [0, 1, 2])
        expect((await facts(async () => damaged.get(index))).slice(0, 2)).toEqual(["DATA_ROW_INVALID", "DATA_CORRUPT"]); // biome-ignore format: facts
    }
  });

  it("reads on after a JPEG at which libjpeg ends its program", async () => {
    const good = readFileSync(fixture("images/jpeg/color.jpg"));
    file("jpegs/a/1.jpg", good);
    file("jpegs/a/2.jpg", Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4));
    file("jpegs/a/3.jpg", good);
    const jpegs = imageFolder(join(folder, "jpegs"));
    const before = await jpegs.get(0);
    const [, code, message] = await facts(async () => jpegs.get(1));
    expect([code, message]).toEqual([
      "DATA_CORRUPT",
      expect.stringMatching(/a\/2\.jpg cannot be decoded: \w/),
    ]);
    expect(await jpegs.get(2)).toEqual(before);
  });

  it("without images says how they should lie", async () => {
    file("flat/1.png", "");
    file("mixed/a/1.png", readFileSync(fixture("images/png/L.png")));
    for (const name of ["a/1.webp", "2.png", "a/.hidden", ".git/x", "a/._1.png", "a/.small/1.png"])
      file(`mixed/${name}`, "");
    for (const name of ["b", "a/readme"]) symlinkSync(join(folder, "gone"), join(folder, "mixed", name));
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    expect(imageFolder(join(folder, "mixed")).length).toBe(1);
    expect((await warned).message).toMatch(/2 files .*: 2\.png, a\/1\.webp/);
    expect((await facts(() => imageFolder(join(folder, "flat"))))[0]).toBe("DATA_EMPTY");
    for (const path of ["nowhere", "flat/1.png"])
      expect((await facts(() => imageFolder(join(folder, path))))[0]).toBe("DATA_FILE_MISSING");
    expect((await facts(() => imageFolder("")))[0]).toBe("OPTION_INVALID");
  });

  it("is decoded by jpeg-turbo where told, to some levels of 255, and what that refuses as before", async () => {
    const turbo = (path: string) => imageFolder(path, { dtype: "u8", decoder: "jpeg-turbo" });
    const { x } = await turbo(fixture("images")).get(0);
    expect(farthest(x.data, expected.jpeg ?? [])).toBeLessThanOrEqual(8);
    expect((await turbo(fixture("images")).get(7)).x).toEqual((await folderOf({}).get(7)).x);
    const photo = readFileSync(fixture("images/jpeg/color.jpg"));
    file("turbo/a/1.jpg", new Uint8Array([...photo.subarray(0, -2), 1, 2, ...photo.subarray(-2)]));
    file("turbo/a/2.jpg", photo.subarray(0, 400));
    const odd = turbo(join(folder, "turbo"));
    expect(farthest((await odd.get(0)).x.data, expected.jpeg ?? [])).toBeLessThanOrEqual(1);
    expect((await facts(async () => odd.get(1)))[1]).toBe("DATA_CORRUPT");
  });

  it("of several sizes says how they get one; other data does not hear of it", async () => {
    for (const side of [2, 3])
      file(
        `sides/a/${side}.png`,
        encode({ width: side, height: side, data: new Uint8Array(side * side * 3), channels: 3 }),
      );
    const mixed = await imageFolder(join(folder, "sides"))
      .toArrays()
      .catch((error: Error) => error);
    expect(mixed).toMatchObject({ code: "DATA_RAGGED", fix: expect.stringContaining("{ size: 64 }") });
    const rows = await fromIterable([{ x: [1] }, { x: [1, 2] }])
      .toArrays()
      .catch((error: Error) => error);
    expect(rows).toMatchObject({ code: "DATA_RAGGED", fix: expect.not.stringContaining("size") });
  });

  it("asks for a decoder that is not installed", async () => {
    const sharp = imageFolder(fixture("images"), { decoder: "sharp" });
    expect((await facts(async () => sharp.get(0)))[0]).toBe("PACKAGE_MISSING");
  });
});

describe("a file of tokens", () => {
  const tokens = Int32Array.from({ length: 1001 }, (_, i) => (i * 7919) % 60_000);
  const path = file("tokens.u16", new Uint8Array(Uint16Array.from(tokens).buffer));

  it("gives windows and the tokens after them, in order", () => {
    const data = tokenFile(path, { window: 10, order: "sequential" });
    expect(data.length).toBe(100);
    expect(data.get(99)).toEqual({ x: tokens.slice(990, 1000), y: tokens.slice(991, 1001) });
  });

  it("gives random windows from everywhere, others in each pass, as those of tokens in memory", async () => {
    const wide = file("tokens.u32", new Uint8Array(Uint32Array.from(tokens).buffer));
    const data = tokenFile(wide, { window: 10, dtype: "u32" });
    const inMemory = tokenWindows(tokens, { window: 10 });
    const starts = new Set<number>();
    for (let epoch = 0; epoch < 200; epoch++)
      for (let i = 0; i < 20; i++) {
        const { x, y } = await data.get(i, passOf(3, epoch));
        expect(inMemory.get(i, passOf(3, epoch))).toEqual({ x, y });
        const start = tokens.indexOf(x[0] as number);
        expect([...x, y[9]]).toEqual([...tokens.slice(start, start + 11)]);
        starts.add(start);
      }
    expect([Math.min(...starts), Math.max(...starts)]).toEqual([0, 990]);
    expect(starts.size).toBeGreaterThan(950);
    const again = await datasetFromRecipe(data.recipe ?? expect.fail());
    expect(await again.get(7, passOf(1))).toEqual(data.get(7, passOf(1)));
  });

  it("that is too small or has half a token says so", async () => {
    expect((await facts(() => tokenFile(path, { window: 1001 })))[0]).toBe("DATA_TOO_SMALL");
    const half = file("half.u32", new Uint8Array(7));
    expect((await facts(() => tokenFile(half, { window: 1, dtype: "u32" })))[0]).toBe("DATA_CORRUPT");
    expect(() => tokenWindows([1, 2] as never, { window: 1 })).toThrow(/OPTION_INVALID/);
  });
});
