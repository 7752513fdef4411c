import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chart, comparisonsIn } from "./chart.ts";
import { withSection } from "./docs.ts";
import { exampleReport, exampleResult } from "./example-report.test-support.ts";
import { benchmarksPage, chartFile } from "./folders.ts";

describe("comparisonsIn", () => {
  it("reads how much faster ours is from the tables of reports", () => {
    const page = withSection(
      undefined,
      exampleReport(
        exampleResult,
        { ...exampleResult, name: "slow", ours: [4], peers: { jax: [1], torch: [8] } },
        { ...exampleResult, name: "rate", unit: "frames/s", ours: [100], peers: { torch: [50] } },
        { ...exampleResult, name: "score", unit: "return", ours: [5], peers: { jax: [1] } },
        { ...exampleResult, name: "alone", peers: {} },
      ),
    );
    const found = comparisonsIn(page).map(({ speed, ...rest }) => ({ ...rest, speed: speed.toFixed(3) }));
    const common = { section: "Engine on a CPU", engine: "xla", figures: 2 };
    expect(found).toEqual([
      { ...common, peer: "JAX", speed: Math.sqrt((1 / 1.1) * 0.25).toFixed(3), least: 0.25, most: 1 / 1.1 },
      { ...common, peer: "PyTorch", speed: "2.000", least: 2, most: 2 },
    ]);
  });
});

describe("chart", () => {
  const of = (speed: number) => ({
    ...{ section: "A & B", engine: "host", peer: "JAX", figures: 1 },
    ...{ speed, least: speed, most: speed },
  });

  it("draws what is faster to the right of the line, and what is slower to its left", () => {
    const svg = chart([of(2), of(0.5)]);
    const one = Number(/class="one" x1="([\d.]+)"/.exec(svg)?.[1]);
    const bars = [...svg.matchAll(/class="(fast|slow)" x="([\d.]+)" y="\d+" width="([\d.]+)"/g)];
    expect(bars.map(([, kind]) => kind)).toEqual(["fast", "slow"]);
    expect(Number(bars[0]?.[2])).toBeCloseTo(one, 0);
    expect(Number(bars[1]?.[2]) + Number(bars[1]?.[3])).toBeCloseTo(one, 0);
    expect(svg).toContain("A &amp; B");
    expect(svg).toContain("prefers-color-scheme: dark");
  });

  it("is drawn again whenever docs/benchmarks.md changes: npm run bench -- chart", () => {
    const page = readFileSync(benchmarksPage(), "utf8");
    expect(readFileSync(chartFile(), "utf8")).toBe(chart(comparisonsIn(page)));
  });
});
