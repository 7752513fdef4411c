import { describe, expect, it } from "vitest";
import { exampleReport, exampleResult } from "./example-report.test-support.ts";
import { allHold, judge } from "./judge.ts";

describe("judge", () => {
  it("compares medians with a peer's", () => {
    expect(judge(exampleResult)).toEqual([
      { bar: "at most 1.25 x JAX", measured: "1.10 x JAX", outcome: "holds" },
    ]);
    expect(judge({ ...exampleResult, ours: [1.3, 1.2, 1.4] })[0]?.outcome).toBe("falls short");
  });

  it("holds at the bar itself, except where it must be below", () => {
    const equal = { ...exampleResult, ours: [1], peers: { jax: [1] } };
    expect(judge({ ...equal, bars: [{ kind: "ratio", against: "jax", atMost: 1 }] })[0]?.outcome).toBe(
      "holds",
    );
    expect(judge({ ...equal, bars: [{ kind: "ratio", against: "jax", below: 1 }] })[0]).toEqual({
      bar: "faster than JAX",
      measured: "1.00 x JAX",
      outcome: "falls short",
    });
  });

  it("judges an absolute bar without peers", () => {
    const bars = [{ kind: "absolute", atMost: 1.1 }] as const;
    expect(judge({ ...exampleResult, bars, peers: {} })[0]).toEqual({
      bar: "at most 1.1 ms",
      measured: "",
      outcome: "holds",
    });
    expect(judge({ ...exampleResult, bars: [{ kind: "absolute", atMost: 1 }] })[0]?.outcome).toBe(
      "falls short",
    );
  });

  it("names the document that asks for a bar", () => {
    const bars = [{ kind: "absolute", atMost: 5, asked: "003" }] as const;
    expect(judge({ ...exampleResult, bars })[0]?.bar).toBe("at most 5 ms (003)");
  });

  it("asks for more where more is better, and of the worst round too", () => {
    const rates = {
      ...exampleResult,
      unit: "frames/s",
      ours: [60, 100, 90],
      peers: { jax: [100, 95, 110] },
    } as const;
    const bar = { kind: "ratio", against: "jax" } as const;
    expect(judge({ ...rates, bars: [{ ...bar, atLeast: 0.9 }] })[0]).toEqual({
      bar: "at least 0.9 x JAX",
      measured: "0.900 x JAX",
      outcome: "holds",
    });
    expect(judge({ ...rates, bars: [{ ...bar, atLeast: 0.7, worst: true }] })[0]).toEqual({
      bar: "the worst at least 0.7 x JAX",
      measured: "0.600 x JAX",
      outcome: "falls short",
    });
    expect(judge({ ...rates, bars: [{ kind: "absolute", above: 90 }] })[0]).toMatchObject({
      bar: "above 90 frames/s",
      outcome: "falls short",
    });
  });

  it("compares a mean with the spread of a peer's samples", () => {
    const bars = [{ kind: "spread", against: "jax" }] as const;
    const learned = { ...exampleResult, unit: "return", statistic: "mean", bars } as const;
    const peers = { jax: [90, 100, 110] };
    expect(judge({ ...learned, ours: [85, 95, 96], peers })[0]).toEqual({
      bar: "within a standard deviation of JAX",
      measured: "-8.00 of 10.0",
      outcome: "holds",
    });
    expect(judge({ ...learned, ours: [85, 100, 82], peers })[0]?.outcome).toBe("falls short");
    expect(judge({ ...learned, ours: [111, 112, 113], peers })[0]?.outcome).toBe("falls short");
  });

  it("has not measured a ratio without its peer, nor anything without ours", () => {
    expect(judge({ ...exampleResult, peers: {} })[0]?.outcome).toBe("not measured");
    expect(judge({ ...exampleResult, ours: undefined })[0]?.outcome).toBe("not measured");
  });

  it("lets a run pass only where every bar was measured and holds", () => {
    const unmeasured = { ...exampleResult, peers: {} };
    expect(allHold(exampleReport(exampleResult))).toBe(true);
    expect(allHold(exampleReport(exampleResult, { ...unmeasured, bars: [] }))).toBe(true);
    expect(allHold(exampleReport(exampleResult, unmeasured))).toBe(false);
  });
});
