import { expect, it } from "vitest";
import { bytesText } from "./bytes.ts";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1500, "1.5 kB"],
  [2_000_000_000, "2.0 GB"],
  [3e17, "300000.0 TB"],
])("%d bytes are %s", (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
