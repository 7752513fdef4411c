import { describe, expect, it } from "vitest";
import { withSection } from "./docs.ts";
import { exampleReport, exampleResult } from "./example-report.test-support.ts";

describe("withSection", () => {
  const report = exampleReport(exampleResult);

  it("starts a page with what was measured, where and when", () => {
    const page = withSection(undefined, report);
    expect(page).toMatch(/^# Benchmarks\n/);
    expect(page).toContain("`npm run bench -- engine --peers`, 2026-01-02, 3 rounds.");
    expect(page).toContain("- A Processor, 2 cores, 8 GB, linux x64, Node 20.0.0");
    expect(page).toContain(
      "| xla: Adam step | 1.10 (1.00-1.30) ms | 1.00 (0.900-2.00) ms | 1.10 x JAX | at most 1.25 x JAX | holds |",
    );
  });

  it("replaces the section of the same bench and keeps everything else", () => {
    const both = withSection(withSection(undefined, report), { ...report, bench: "parts", title: "Parts" });
    const edited = both.replace("# Benchmarks", "# Numbers");
    const page = withSection(edited, exampleReport({ ...exampleResult, name: "other step" }));
    expect(page).toMatch(/^# Numbers\n/);
    expect(page).toContain("## Parts");
    expect(page.match(/## Engine on a CPU/g)).toHaveLength(1);
    expect(page.indexOf("other step")).toBeLessThan(page.indexOf("## Parts"));
    expect(page.indexOf("Adam step")).toBeGreaterThan(page.indexOf("## Parts"));
  });

  it("says what could not be measured", () => {
    const failed = { ...exampleResult, ours: undefined, problems: { ours: "no plugin" } };
    expect(withSection(undefined, exampleReport(failed))).toContain("- xla: Adam step: ours: no plugin");
  });
});
