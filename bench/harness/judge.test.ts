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
