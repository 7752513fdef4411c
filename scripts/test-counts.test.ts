import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TestModule, Vitest } from "vitest/node";
import { testCounts } from "./test-counts.ts";

type State = "passed" | "failed" | "skipped" | "pending";

/** Ends a made-up run of one file and returns what the reporter did. */
function end(
  states: readonly State[],
  options: { required?: string; pattern?: RegExp; errors?: number } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "espalier-"));
  const reportTo = join(folder, "deep/counts.txt");
  const reporter = testCounts({ required: options.required, reportTo });
  const errors = Array.from({ length: options.errors ?? 0 }, () => ({ message: "does not load" }));
  const tests = states.map((state, i) => ({ fullName: `test ${i}`, result: () => ({ state }) }));
  const module = { relativeModuleId: "a.test.ts", errors: () => errors, children: { allTests: () => tests } };
  reporter.onInit?.({ config: { testNamePattern: options.pattern } } as unknown as Vitest);
  reporter.onTestRunEnd?.([module as unknown as TestModule], [], "passed");
  const [report, failing] = [reportTo, `${reportTo}.failed`].map((file) => readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  return { report, failing, code: process.exitCode };
}

describe("testCounts", () => {
  const printed: string[] = [];
  const before = process.exitCode;

  beforeEach(() => {
    printed.length = 0;
    for (const method of ["log", "error"] as const)
      vi.spyOn(console, method).mockImplementation((text: string) => {
        printed.push(text);
      });
  });

  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = before;
  });

  it("ends with the counts, and writes them down", () => {
    expect(end(["passed", "passed", "failed"]).report).toBe("2 passed, 1 failed\n");
    expect(printed).toEqual(["2 passed, 1 failed"]);
  });

  it("counts a file that does not load as failed", () => {
    expect(end([], { errors: 1 }).report).toBe("0 passed, 1 failed\n");
  });

  it("lets tests be skipped where nothing is required, and says how many", () => {
    expect(end(["passed", "skipped"]).code).toBe(before);
    expect(printed).toEqual(["1 passed, 0 failed, 1 skipped"]);
  });

  it("fails a run with a skipped test where parts are required, and names it", () => {
    const { code, report } = end(["passed", "skipped"], { required: "xla" });
    expect(code).toBe(1);
    expect(report).toBe("1 passed, 1 failed\n");
    expect(printed[0]).toContain("ESPALIER_REQUIRE=xla forbids skipped tests:\n  a.test.ts > test 1");
  });

  it("passes a run without skips where parts are required", () => {
    expect(end(["passed"], { required: "xla" })).toEqual({
      code: before,
      report: "1 passed, 0 failed\n",
      failing: "",
    });
  });

  it("lists files that failed, did not load, or whose process ended, with the tests that passed", () => {
    expect(end(["passed", "failed"]).failing).toBe("1 a.test.ts\n");
    expect(end([], { errors: 1 }).failing).toBe("0 a.test.ts\n");
    expect(end(["passed", "passed", "pending"], { required: "xla" }).failing).toBe("2 a.test.ts\n");
    expect(end(["passed", "skipped"]).failing).toBe("");
  });

  it("does not take a name pattern for a missing part", () => {
    expect(end(["passed", "skipped"], { required: "xla", pattern: /one/ }).code).toBe(before);
  });
});
