import { describe, expect, it } from "vitest";
import { fileOf, withHeader } from "./files.test-support.ts";
import { encodeHeader, longestHeader, topLevelKeys } from "./header.ts";
import { encodeSafetensors, readHeader, readTensor } from "./tensors.ts";

const entry = (start: number, end: number, shape = [end - start], dtype = "U8") =>
  JSON.stringify({ dtype, shape, data_offsets: [start, end] });
const read = (text: string, dataBytes = 0) => readHeader(fileOf(withHeader(text, dataBytes)));
const whole = encodeSafetensors({ a: { dtype: "f32", shape: [4], data: Float32Array.of(1, 2, 3, 4) } });

describe("a broken file", () => {
  it.each([
    ["no JSON", "{nonsense", 0, /not JSON/],
    ["no object", "[1]", 0, /not a JSON object/],
    ["space in front", " {}", 0, /not a JSON object/],
    ["bytes that are no text", "\ud800{}", 0, /not/],
    ["a repeated name", `{"a":${entry(0, 1)},"a":${entry(0, 1)}}`, 1, /"a" stands twice/],
    [
      "a name repeated in another spelling",
      `{"a":${entry(0, 1)},"\\u0061":${entry(0, 1)}}`,
      1,
      /"a" stands twice/,
    ],
    [
      "overlapping tensors",
      `{"a":${entry(0, 4)},"b":${entry(2, 6)}}`,
      6,
      /"b" begins at 2, inside tensor "a"/,
    ],
    ["a hole", `{"a":${entry(0, 2)},"b":${entry(4, 6)}}`, 6, /nothing fills the bytes from 2 to 4/],
    ["a hole in front", `{"a":${entry(2, 4)}}`, 4, /nothing fills the bytes from 0 to 2/],
    ["an end before its start", `{"a":${entry(4, 2, [2])}}`, 4, /ends at 2, before its start at 4/],
    ["a negative offset", `{"a":${entry(-1, 2, [3])}}`, 4, /no data_offsets/],
    ["a shape of another size", `{"a":${entry(0, 4, [3])}}`, 4, /takes 3 bytes, not 4/],
    ["an unknown type", `{"a":${entry(0, 4, [4], "Q9")}}`, 4, /element type "Q9"/],
    [
      "a type named like a method",
      `{"a":${entry(0, 4, [4], "constructor")}}`,
      4,
      /element type "constructor"/,
    ],
    ["no type", `{"a":{"shape":[1],"data_offsets":[0,1]}}`, 1, /no dtype/],
    ["a fraction in a shape", `{"a":{"dtype":"U8","shape":[0.5],"data_offsets":[0,1]}}`, 1, /no shape/],
    ["metadata that is no text", `{"__metadata__":{"a":1}}`, 0, /__metadata__/],
    ["bytes after the last tensor", `{"a":${entry(0, 2)}}`, 3, /1 bytes follow the last tensor/],
  ])("with %s is refused", async (_name, text, dataBytes, message) => {
    await expect(read(text, dataBytes)).rejects.toThrow(message);
    await expect(read(text, dataBytes)).rejects.toMatchObject({ code: "SAFETENSORS_INVALID" });
  });

  it("that is cut off anywhere is refused", async () => {
    for (let length = 0; length < whole.length; length++)
      await expect(readHeader(fileOf(whole.subarray(0, length)))).rejects.toMatchObject({
        code: "SAFETENSORS_TRUNCATED",
      });
    await expect(readHeader(fileOf(whole))).resolves.toBeDefined();
  });

  it("whose header claims too much is refused before it is read", async () => {
    const file = Uint8Array.from(whole);
    new DataView(file.buffer).setBigUint64(0, BigInt(longestHeader) + 1n, true);
    const opened = fileOf(file);
    await expect(readHeader(opened)).rejects.toThrow(/claims 100000001 bytes/);
    expect(opened.reads).toEqual([[0, 8]]);
  });
});

describe("a header", () => {
  it("aligns the data to 8 bytes, as the original does", () => {
    for (const name of ["a", "ab", "abc", "abcdefgh"])
      expect(encodeHeader([{ name, dtype: "F32", shape: [1] }]).header.dataStart % 8).toBe(0);
  });

  it("cannot hold a name twice, nor its own", () => {
    const plan = (name: string) => ({ name, dtype: "F32", shape: [1] });
    expect(() => encodeHeader([plan("a"), plan("a")])).toThrow(/"a": the name is taken/);
    expect(() => encodeHeader([plan("__metadata__")])).toThrow(/taken/);
  });

  it("lists types that we have not, which cannot be read", async () => {
    const file = fileOf(withHeader(`{"a":${entry(0, 16, [2], "I64")}}`, 16));
    const header = await readHeader(file);
    expect(header.tensors.get("a")?.dtype).toBe("I64");
    await expect(readTensor(file, header, "a")).rejects.toThrow(/"a" is of type I64/);
  });

  it("keeps a name that objects have of their own", async () => {
    const file = encodeSafetensors({ ["__proto__"]: { dtype: "u8", shape: [1], data: Uint8Array.of(1) } });
    expect([...(await readHeader(fileOf(file))).tensors.keys()]).toEqual(["__proto__"]);
  });
});

it("topLevelKeys finds keys at the top, and only there", () => {
  expect(topLevelKeys('{"a":{"b":1,"c":[{"d":2}]},"e:{":"f","\\"":3,"a":4}')).toEqual(["a", "e:{", '"', "a"]);
});
