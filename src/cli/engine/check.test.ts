import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import {
  agreementFailures,
  agreementOf,
  check,
  checkText,
  learningFailures,
  type Measured,
  summary,
} from "./check.ts";

/** What an engine that gave these losses and random words would be measured as. */
const measured = (losses: readonly number[], words: readonly number[] = [1, 2], kind = "cpu"): Measured => ({
  engine: "wasm",
  description: "",
  kind,
  devices: [],
  training: { firstMs: 0, stepMs: 0, losses, randomWords: Uint32Array.from(words) },
});

describe("agreementOf", () => {
  it("gives the largest difference at one step as a share of the loss", () => {
    expect(agreementOf(measured([1, 0.5]), measured([1, 0.4])).losses).toBeCloseTo(0.2, 12);
  });

  it("does not take losses near zero for different", () => {
    expect(agreementOf(measured([1e-9]), measured([2e-9])).losses).toBeLessThan(1e-6);
  });

  it.each([
    ["NaN", measured([1, Number.NaN, 0.5])],
    ["missing steps", measured([1])],
  ])("does not pass over %s", (_what, other) => {
    const agreement = agreementOf(measured([1, 0.7, 0.5]), other);
    expect(agreement.losses).toBeNaN();
    expect(agreementFailures(agreement)).toHaveLength(1);
  });

  it("allows more where a device rounds more", () => {
    expect(agreementOf(measured([1]), measured([1], [1], "cuda")).tolerance).toBeGreaterThan(
      agreementOf(measured([1]), measured([1])).tolerance,
    );
  });

  it("compares random bits one by one", () => {
    expect(agreementOf(measured([1], [1, 2]), measured([1], [1, 2])).randomBits).toBe(true);
    expect(agreementOf(measured([1], [1, 2]), measured([1], [1, 3])).randomBits).toBe(false);
    expect(agreementOf(measured([1], [1, 2]), measured([1], [1, 2, 3])).randomBits).toBe(false);
  });
});

describe("what fails a check", () => {
  it.each([[[1, 0.9]], [[1, Number.NaN]], [[Number.NaN, 0.1]], [[]]])(
    "losses %j are no learning",
    (losses) => {
      expect(learningFailures(measured(losses))).toEqual([
        expect.stringContaining("wasm: it does not learn"),
      ]);
    },
  );

  it("lets losses that fall pass", () => {
    expect(learningFailures(measured([1, 0.4]))).toEqual([]);
  });

  it("names each disagreement", () => {
    expect(agreementFailures({ losses: 1e-6, tolerance: 1e-3, randomBits: true })).toEqual([]);
    expect(agreementFailures({ losses: 0.1, tolerance: 1e-3, randomBits: false })).toEqual([
      expect.stringContaining("losses lie apart by 0.1"),
      "the engines' random bits differ",
    ]);
  });
});

describe("check", () => {
  const engines = testEngines();

  it("trains on every engine here, which agree, and prints what it measured", async () => {
    const report = await check({ engines, required: engines, steps: 60, clock: manualClock() });
    expect(report.failures).toEqual([]);
    expect(report.measured.map(({ engine }) => engine)).toEqual(engines);
    const text = checkText(report);
    expect(text).toMatch(/^engine +devices +compile +a step +first loss +last loss$/m);
    for (const engine of engines)
      expect(text).toMatch(new RegExp(`^${engine} +\\d+ +0\\.000 ms +0\\.000 ms +0\\.\\d{5}`, "m"));
    expect(summary(report)).toMatchObject({
      steps: 60,
      engines: engines.map((engine) => ({
        engine,
        firstLoss: expect.any(Number),
        lastLoss: expect.any(Number),
      })),
    });
    if (engines.length === 1) return;
    expect(report.agreement).toMatchObject({ randomBits: true });
    expect(report.agreement?.losses).toBeLessThan(1e-4);
  });
});
