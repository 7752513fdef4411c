import { inspect } from "node:util";
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

  it("is printed with each text once, its own and those of its causes", () => {
    const inner = new TypeError("x is not iterable");
    const middle = new EspalierError("TASK_FAILED", `the task failed: ${inner.message}`, {
      cause: inner,
      fix: "mend the task",
    });
    const [text] = middle.message.split("\n");
    const outer = new EspalierError("HOOK_FAILED", `hook "a" failed: ${text}`, {
      cause: middle,
      fix: "mend the task",
    });
    const around = new EspalierError("SINK_UNUSABLE", outer.message, { cause: outer });
    // What Node prints of an error that nobody caught.
    const printed = inspect(around, { customInspect: false });
    for (const once of ["x is not iterable", "the task failed", "mend the task", 'hook "a" failed'])
      expect(printed.split(once), once).toHaveLength(2);
    for (const code of ["TASK_FAILED", "HOOK_FAILED", "SINK_UNUSABLE"])
      expect(printed.split(code), code).toHaveLength(2);
    expect(outer.message).toContain("x is not iterable");
    expect(outer).toMatchObject({ code: "HOOK_FAILED", fix: "mend the task" });
  });

  it("keeps a text that only looks like the cause's", () => {
    const error = new EspalierError("A", "sinks: a sink is gone", { cause: new Error("sink") });
    expect(error.stack).toContain("sinks: a sink is gone [A]");
  });

  it("has no cause when none was given", () => {
    expect("cause" in new EspalierError("A", "a")).toBe(false);
  });
});
