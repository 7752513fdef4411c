import { expect, it } from "vitest";
import { put } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { narrow, widen } from "./tensors.ts";

const all = new Uint8Array(Uint16Array.from({ length: 65536 }, (_, i) => i).buffer);

it.each(["f16", "bf16"] as const)("every %s comes back bit for bit, NaNs included", (dtype) => {
  expect(Buffer.from(narrow(widen(all, dtype), dtype)).equals(Buffer.from(all))).toBe(true);
});

it.runIf(testEngines().includes("xla"))("widened numbers are those the engine reads", async () => {
  for (const dtype of ["f16", "bf16"] as const) {
    const wide = widen(all, dtype);
    const read = await put(wide, { dtype, engine: "xla" }).read();
    expect(read.every((value, i) => Object.is(value, wide[i]))).toBe(true);
  }
});
