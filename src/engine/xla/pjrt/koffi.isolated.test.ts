import { describe, expect, it, vi } from "vitest";
import { native } from "./library.ts";

vi.spyOn(process, "getBuiltinModule").mockReturnValue({
  createRequire: () => () => {
    throw new Error("no binary for this system");
  },
});

describe("native", () => {
  it("says what to do where koffi cannot load", () => {
    expect(native).toThrow(
      expect.objectContaining({
        code: "KOFFI_UNAVAILABLE",
        message: expect.stringContaining("no binary for this system"),
        fix: expect.stringContaining("ESPALIER_ENGINE=wasm"),
      }),
    );
  });
});
