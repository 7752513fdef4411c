import { describe, expect, it } from "vitest";
import { EspalierError } from "./error.ts";

describe("EspalierError", () => {
  it("says what happened, where, and what to do", () => {
    const error = new EspalierError("SHAPE_MISMATCH", "matmul: [2, 3] and [4, 5] do not fit", {
      at: "train.ts:12:5",
      fix: "transpose the second argument",
    });
    expect(error.message).toBe(
      [
        "matmul: [2, 3] and [4, 5] do not fit [SHAPE_MISMATCH]",
        "  at: train.ts:12:5",
        "  fix: transpose the second argument",
      ].join("\n"),
    );
    expect(error).toMatchObject({
      code: "SHAPE_MISMATCH",
      fix: "transpose the second argument",
      at: "train.ts:12:5",
    });
  });

  it("leaves out the lines it has nothing to say in", () => {
    expect(new EspalierError("GONE", "the tensor is gone").message).toBe("the tensor is gone [GONE]");
  });

  it("is an Error with a name that logs show", () => {
    const error = new EspalierError("GONE", "the tensor is gone");
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe("EspalierError: the tensor is gone [GONE]");
  });

  it("keeps the cause, whatever it is", () => {
    const cause = new TypeError("no");
    expect(new EspalierError("A", "a", { cause }).cause).toBe(cause);
    expect(new EspalierError("A", "a", { cause: null }).cause).toBeNull();
  });

  it("has no cause when none was given", () => {
    expect("cause" in new EspalierError("A", "a")).toBe(false);
  });
});
