import { describe, expect, it } from "vitest";
import { compile, put, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { adam } from "../optim/index.ts";
import { constant } from "../schedule/index.ts";
import { RampNumbers, rateRamps } from "./rates.ts";

describe.each(testEngines())("ramps of a call on %s", (engine) => {
  const rates = rateRamps("task", adam(), { learningRate: 0.5 }, { "weight.entropy": constant(2) });
  const numbers = new RampNumbers(rates.names, 4, { engine });
  const given = (learningRate: readonly number[], entropy: readonly number[]) => ({
    learningRate: Float32Array.from(learningRate),
    "weight.entropy": Float32Array.from(entropy),
  });

  it("are found by the repeat, of as many as there is room for", async () => {
    const pick = compile((all: Value | null, repeat: Value) => rates.at(all, repeat), { engine });
    const all = numbers.tensor(given([1, 2, 3], [10, 20, 30]), 3);
    const found = async (repeat: number) => {
      const now = pick(all, put(repeat, { engine, dtype: "i32" }));
      return [await now.learningRate?.item(), await now["weight.entropy"]?.item()];
    };
    expect(await found(0)).toEqual([1, 10]);
    expect(await found(2)).toEqual([3, 30]);
    expect(pick.programs).toBe(1);
  });

  it("are put on the device anew only where one has changed", () => {
    const first = numbers.tensor(given([1, 2], [3, 4]), 2);
    expect(numbers.tensor(given([1, 2, 9], [3, 4, 9]), 2)).toBe(first);
    expect(numbers.tensor(given([1, 2], [3, 5]), 2)).not.toBe(first);
  });

  it("are none where there are none", () => {
    const none = rateRamps("task", adam(), {}, {});
    expect(new RampNumbers(none.names, 4, { engine }).tensor({}, 3)).toBeNull();
  });
});
