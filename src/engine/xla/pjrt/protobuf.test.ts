import { describe, expect, it } from "vitest";
import { ProtoWriter } from "./protobuf.ts";

const hex = (writer: ProtoWriter) => Buffer.from(writer.finish()).toString("hex");

// The expected bytes are those of the protocol buffer encoding's own documentation, or follow from it by hand.
describe("ProtoWriter", () => {
  it("writes integers in groups of seven bits, the lowest first", () => {
    expect(hex(new ProtoWriter().integer(1, 150))).toBe("089601");
  });

  it("writes a negative integer as its 64-bit two's complement", () => {
    expect(hex(new ProtoWriter().integer(1, -1))).toBe("08ffffffffffffffffff01");
  });

  it("writes booleans as 0 and 1, and field numbers above 15 in two bytes", () => {
    expect(hex(new ProtoWriter().integer(16, true))).toBe("800101");
  });

  it("writes text with its length in bytes", () => {
    expect(hex(new ProtoWriter().bytes(2, "testing"))).toBe("120774657374696e67");
    expect(hex(new ProtoWriter().bytes(2, "é"))).toBe("1202c3a9");
  });

  it("writes doubles in eight bytes", () => {
    expect(hex(new ProtoWriter().double(4, 1.5))).toBe("21000000000000f83f");
  });

  it("writes messages inside messages", () => {
    expect(hex(new ProtoWriter().bytes(3, new ProtoWriter().integer(1, 150)))).toBe("1a03089601");
  });
});
