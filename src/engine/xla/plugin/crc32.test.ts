import { expect, it } from "vitest";
import { crc32 } from "./crc32.ts";

it("gives the published check value, in one go or in pieces", () => {
  expect(crc32(Buffer.from("123456789"))).toBe(0xcbf43926);
  expect(crc32(Buffer.from("6789"), crc32(Buffer.from("12345")))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array(0))).toBe(0);
});
