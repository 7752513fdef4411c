import protobuf from "protobufjs/minimal.js";
import { describe, expect, it } from "vitest";
import { ProtoWriter, readFields } from "./protobuf.ts";

const written = (write: (out: ProtoWriter) => void, capacity?: number): Buffer => {
  const out = new ProtoWriter(capacity);
  write(out);
  return Buffer.from(out.bytes());
};

describe("ProtoWriter", () => {
  it.each([
    0,
    1,
    127,
    128,
    300,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 40 + 1,
    Number.MAX_SAFE_INTEGER,
    -1,
    -5000,
  ])("writes %d as protobufjs does", (value) =>
    expect(written((out) => out.integer(1, value))).toEqual(
      Buffer.from(protobuf.Writer.create().uint32(8).int64(value).finish()),
    ),
  );

  it("writes every kind of field as protobufjs does", () => {
    const ours = written((out) => {
      out.text(1, "läge");
      out.float(2, 0.1);
      out.double(3, -0);
      out.boolean(4, true);
      out.doubles(300, [1, 2.5, NaN]);
    });
    const theirs = protobuf.Writer.create()
      .uint32(10)
      .string("läge")
      .uint32(21)
      .float(0.1)
      .uint32(25)
      .double(-0);
    theirs.uint32(32).bool(true).uint32(2402).fork().double(1).double(2.5).double(NaN).ldelim();
    expect(ours).toEqual(Buffer.from(theirs.finish()));
  });

  it.each([0, 1, 125, 127, 128, 16_383, 16_384, 70_000])(
    "puts a message of about %d bytes into another",
    (size) => {
      const text = "x".repeat(size);
      const ours = written((out) => {
        const outer = out.begin(2);
        const inner = out.begin(3);
        out.text(1, text);
        out.end(inner);
        out.integer(4, 7);
        out.end(outer);
      }, 16);
      const theirs = protobuf.Writer.create()
        .uint32(18)
        .fork()
        .uint32(26)
        .fork()
        .uint32(10)
        .string(text)
        .ldelim();
      expect(ours).toEqual(Buffer.from(theirs.uint32(32).int32(7).ldelim().finish()));
    },
  );

  it("gives back memory that is used again after clear", () => {
    const out = new ProtoWriter(8);
    out.text(1, "something long enough to grow");
    out.clear();
    out.text(1, "b");
    expect([...out.bytes()]).toEqual([10, 1, 98]);
  });
});

describe("readFields", () => {
  it("reads what was written, and refuses what is not a message", () => {
    const bytes = written((out) => {
      out.integer(1, 2 ** 40);
      out.text(17, "ä");
      out.double(3, 1.5);
      out.float(4, 2);
    });
    const found = [...readFields(bytes)].map(({ field, number, bytes: b }) => [
      field,
      number ?? b?.toString("hex"),
    ]);
    expect(found).toEqual([
      [1, 2 ** 40],
      [17, "c3a4"],
      [3, "000000000000f83f"],
      [4, "00000040"],
    ]);
    expect(() => [...readFields(bytes.subarray(0, -1))]).toThrow(RangeError);
    expect(() => [...readFields(Buffer.from([0x80]))]).toThrow(/within a number/);
    expect(() => [...readFields(Buffer.from([15]))]).toThrow(/type 7/);
  });
});
