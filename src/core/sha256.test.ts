import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hex, nameWords, sha256, sha256InJavaScript } from "./sha256.ts";

describe.each([
  ["of Node", sha256],
  ["in JavaScript", sha256InJavaScript],
])("sha256 %s", (_, make) => {
  it("has the bits of Node's, however the data is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: "grapheme" }), fc.uint8Array())), (parts) => {
        const [ours, nodes] = [make(), createHash("sha256")];
        for (const part of parts) {
          ours.update(part);
          nodes.update(part);
        }
        expect(hex(ours.digest())).toBe(nodes.digest("hex"));
      }),
    );
  });

  it("has the published value for abc", () => {
    expect(hex(make().update("abc").digest())).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});

it("nameWords are the first eight bytes, little-endian", () => {
  const digest = createHash("sha256").update("größe").digest();
  expect(nameWords("größe")).toEqual([digest.readUInt32LE(0), digest.readUInt32LE(4)]);
});
