import { describe, expect, it } from "vitest";
import { compile, np, type Tensor, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import type { Params } from "../nn/index.ts";
import { linear, noCounters } from "../schedule/index.ts";
import { objective } from "./index.ts";
import type { Loss } from "./loss.ts";
import { fit, line, type Points, ramp, start } from "./losses.test-support.ts";

type PointLoss = Loss<Points, Value>;

/** Squares of distances up to a range: those of [-0.5, 0.5, -2] at 1 are [0.25, 0.25, 1]. */
const clipped = (
  range: NonNullable<PointLoss["rates"]>[string],
  more: Partial<PointLoss> = {},
): PointLoss => ({
  name: "clipped",
  rates: { range },
  term: ({ outputs, batch, rate }) => ({
    loss: np.mean(np.minimum(np.square(outputs.sub(batch.y)), rate("range"))),
  }),
  ...more,
});
const aimsOf = (...losses: readonly PointLoss[]) => objective({ forward: line, losses });

describe.each(testEngines())("rates of losses on %s", (engine) => {
  const { params, batch } = start(engine);
  const stepOf = ({ evaluate, names }: ReturnType<typeof aimsOf>) =>
    compile(
      (p: Params, b: Points, weights: Readonly<Record<string, Value>>) => evaluate(names)(p, b, weights).loss,
      { engine },
    );
  const at = (loss: Tensor): Promise<number> => loss.item() as Promise<number>;

  it("are part of the program where they are numbers", async () => {
    const aims = aimsOf(clipped(1));
    expect(aims.ramps).toEqual({});
    expect(await at(stepOf(aims)(params, batch, {}))).toBeCloseTo(0.5, 6);
  });

  it("are inputs of one program where they are ramps, beside weights", async () => {
    const range = linear({ from: 4, to: 0, over: { updates: 4 } });
    const aims = aimsOf(fit, clipped(range, { weight: ramp(() => 2) }));
    expect(Object.keys(aims.ramps)).toEqual(["weight.clipped", "rate.clipped.range"]);
    const step = stepOf(aims);
    const found = async (updates: number) => {
      const now = { ...noCounters, updates };
      const numbers = Object.entries(aims.ramps).map(([name, of]) => [name, of.at(now)] as const);
      return at(step(params, batch, Object.fromEntries(numbers)));
    };
    expect(await found(0)).toBeCloseTo(1.5 + 2 * 1.5, 6);
    expect(await found(3)).toBeCloseTo(1.5 + 2 * 0.5, 6);
    expect(await found(4)).toBeCloseTo(1.5, 6);
    expect(step.programs).toBe(1);
  });

  it("are there while experience is gathered, by the same names", async () => {
    const near = clipped(
      ramp(() => 1),
      {
        rates: { range: ramp(() => 1), times: 3 },
        rollout: ({ outputs, rate }) => ({
          near: np.minimum(outputs, rate("range")).mul(np.multiply(1, rate("times"))),
        }),
      },
    );
    const aims = aimsOf(near);
    const gather = compile(
      (p: Params, b: Points, range: Value) =>
        aims.rollout(aims.names, {
          ...{ params: p, batch: b, outputs: line(p, b), weights: { "rate.clipped.range": range } },
        }),
      { engine },
    );
    expect(await gather(params, batch, 2 as never).near?.read()).toEqual(Float32Array.of(1.5, 6, -3));
    const without = (p: Params, b: Points) =>
      aims.rollout(aims.names, { params: p, batch: b, outputs: line(p, b) });
    expect(() => compile(without, { engine })(params, batch)).toThrow(
      /loss "clipped" has a ramp for its rate "range", and its value was not given.*LOSS_WEIGHT_MISSING/,
    );
  });

  it("must be given, and must be there", () => {
    expect(() => stepOf(aimsOf(clipped(ramp(() => 1))))(params, batch, {})).toThrow(
      /rate "range".*not given.*LOSS_WEIGHT_MISSING.*"rate.clipped.range": value/s,
    );
    const misspelt = clipped(1, { rates: { rnage: 1 } });
    expect(() => stepOf(aimsOf(misspelt))(params, batch, {})).toThrow(
      /loss "clipped" has no rate "range"; did you mean "rnage"\?.*LOSS_RATE_UNKNOWN/,
    );
    const none = clipped(1, { rates: {} });
    expect(() => stepOf(aimsOf(none))(params, batch, {})).toThrow(
      /no rate "range".*rates: \{ range: 0.2 \}/s,
    );
  });
});

describe("rates", () => {
  it.each([
    ["no number", Number.NaN],
    ["infinite", Number.POSITIVE_INFINITY],
    ["no ramp", {} as never],
    ["text", "0.2" as never],
    ["lists", [0.2] as never],
  ])("are refused where they are %s", (_, range) => {
    expect(() => aimsOf(clipped(range))).toThrow(/loss "clipped": its rate "range" is .*LOSS_INVALID/);
  });
});
