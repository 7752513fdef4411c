import { crc32 as zlibCrc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { crc32, crc32c } from "./crc.ts";

const whole = (crc: typeof crc32, bytes: Uint8Array): number => crc(bytes, 0, bytes.length);
const digits = Buffer.from("123456789");

describe("crc32c", () => {
  it.each([
    // RFC 3720, B.4; the first is the check value of every catalogue.
    ["the digits", digits, 0xe3069283],
    ["32 bytes of 0", new Uint8Array(32), 0x8a9136aa],
    ["32 bytes of 255", new Uint8Array(32).fill(255), 0x62a8ab43],
    ["0 to 31", Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
    ["31 to 0", Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
    ["nothing", new Uint8Array(0), 0],
  ])("of %s", (_, bytes, crc) => expect(whole(crc32c, bytes)).toBe(crc));
});

describe("crc32", () => {
  it("of the digits", () => expect(whole(crc32, digits)).toBe(0xcbf43926));

  it("is zlib's, of any length, from any place, in one go or in two", () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => (i * 7919) >>> 3);
    for (let size = 0; size < 40; size++) {
      const part = bytes.subarray(11, 11 + size);
      expect(crc32(bytes, 11, 11 + size)).toBe(zlibCrc32(part));
      const middle = 11 + Math.floor(size / 3);
      expect(crc32(bytes, middle, 11 + size, crc32(bytes, 11, middle))).toBe(zlibCrc32(part));
    }
  });
});
