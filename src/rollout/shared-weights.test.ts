import { expect, it } from "vitest";
import { weightFiles } from "./shared-weights.ts";

it("weights that no directory takes are an error with the place", () => {
  const { TMPDIR } = process.env;
  process.env.TMPDIR = "/nowhere";
  try {
    // Far more than shared memory has, and none of it is touched.
    const one = { data: new Float32Array(2 ** 28), shape: [2 ** 28] };
    const arrays = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`w${i}`, one]));
    expect(() => weightFiles().write({ id: 1, arrays })).toThrow(
      expect.objectContaining({ code: "WEIGHTS_UNWRITABLE", fix: expect.stringContaining("/nowhere") }),
    );
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
});
