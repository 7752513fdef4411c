import { describe, expect, it } from "vitest";
import { metricRecord } from "../../../testing/sinks/records.ts";
import { settingsByPath } from "../sink.ts";
import { crc32c, EventWriter, writeSessionStart, writeValue } from "./events.ts";

/** The same events by tensorboard 2.21.0's own RecordWriter. */
const original = [
  "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b353110",
  "100000000000000095fbfe180900002040fc54d94110ac023a020801b94512a3",
  "34000000000000005e33175c0900004040fc54d94110f0a2042a250a110a0a747261696e2f6c6f737315cdcccc3d",
  "0a100a096576616c2f6c6f737315000080ff0c8c0716",
  "6e00000000000000c4bf33640900008040fc54d94110ffffffffffffffffff012a580a560a01682a51099a9999999999b93f",
  "1100000000000000401900000000000008402100000000000010402900000000000014403210000000000000f03f",
  "00000000000000403a10000000000000f03f0000000000000040685b7581",
].join("");

describe("EventWriter", () => {
  it("frames events byte for byte as TensorBoard's own writer", () => {
    const out = new EventWriter(16);
    out.fileVersion(1_700_000_000_500);
    out.sessionStart(1_700_000_000_500, 300);
    out.beginValues(1_700_000_001_000, 70_000);
    writeValue(out, metricRecord({ step: 70_000, value: 0.1 }), true);
    writeValue(out, metricRecord({ step: 70_000, value: -Infinity, category: "eval" }), true);
    out.endValues();
    out.beginValues(1_700_000_002_000, -1);
    const value = { edges: [0, 1, 2], counts: [1, 2], min: 0.1, max: 2, sum: 4, sumSquares: 5, count: 3 };
    writeValue(out, metricRecord({ step: -1, value, key: "h", category: "", name: "h" }), false);
    out.endValues();
    expect(out.bytes().toString("hex")).toBe(original);
  });
});

describe("crc32c", () => {
  it.each([
    // RFC 3720, B.4; the first is the check value of every catalogue.
    ["the digits", Buffer.from("123456789"), 0xe3069283],
    ["32 bytes of 0", new Uint8Array(32), 0x8a9136aa],
    ["32 bytes of 255", new Uint8Array(32).fill(255), 0x62a8ab43],
    ["0 to 31", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
    ["31 to 0", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
    ["nothing", new Uint8Array(0), 0],
  ])("of %s", (_, bytes, crc) => {
    expect(crc32c(bytes, 0, bytes.length)).toBe(crc);
    expect(crc32c(Buffer.concat([Buffer.from("abc"), bytes, Buffer.from("d")]), 3, 3 + bytes.length)).toBe(
      crc,
    );
  });
});

describe("settings by path", () => {
  it("are one by one what lies in objects, and lists as they are", () => {
    const config = {
      lr: 0.1,
      net: { width: 64, act: "relu", sizes: [1, [2]], deep: { bias: true } },
      none: null,
    };
    expect(settingsByPath(config)).toEqual([
      ["lr", 0.1],
      ["net.width", 64],
      ["net.act", "relu"],
      ["net.sizes", [1, [2]]],
      ["net.deep.bias", true],
      ["none", null],
    ]);
  });

  it.each([
    [null, []],
    [{}, []],
    [[1, 2], [["config", [1, 2]]]],
    [7, [["config", 7]]],
    ["fast", [["config", "fast"]]],
  ])("of %j are %j", (config, found) => expect(settingsByPath(config)).toEqual(found));

  it("are texts in an event file where they are neither numbers nor true or false: lists as JSON", () => {
    const out = new EventWriter();
    const config = { sizes: [1, [2]], none: null, act: "relu" };
    writeSessionStart(out, { id: "a", name: "a", startedAt: 0, config });
    for (const text of [
      "sizes\x12\x09\x1a\x07[1,[2]]",
      "none\x12\x06\x1a\x04null",
      "act\x12\x06\x1a\x04relu",
    ])
      expect(out.bytes().toString("latin1")).toContain(text);
  });
});
