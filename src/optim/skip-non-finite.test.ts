import { describe, expect, it } from "vitest";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { firstDifference } from "../state/index.ts";
import { adam, chain, clipByGlobalNorm, ema, sgd, skipNonFinite, treeIn, valueIn } from "./index.ts";
import { someGradients, somePlaces, training } from "./training.test-support.ts";

describe.each(testEngines())("skipNonFinite on %s", (engine) => {
  const optimizer = skipNonFinite(chain(clipByGlobalNorm(1), adam(), ema()));

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "changes no bit of parameters and inner state where a gradient is %s",
    async (bad) => {
      const { step, init } = training(optimizer, engine);
      const start = somePlaces(engine);
      const good = step(start, init(start), someGradients(engine), {});
      expect(await firstDifference(start, good.params)).toBeDefined();
      // -0 in a parameter stays -0: adding a plain 0 would make it 0.
      const skipped = step(start, good.state, someGradients(engine, bad), {});
      expect(await firstDifference(start, skipped.params)).toBeUndefined();
      expect(
        await firstDifference(treeIn(good.state, "inner"), treeIn(skipped.state, "inner")),
      ).toBeUndefined();
    },
  );

  it("counts what it skips, in all and in a row, and goes on afterwards", async () => {
    const { step, init } = training(optimizer, engine);
    let params = somePlaces(engine);
    let state = init(params);
    const counts: number[][] = [];
    for (const first of [1, Number.NaN, Number.NaN, 1, Number.POSITIVE_INFINITY]) {
      ({ params, state } = step(params, state, someGradients(engine, first), {}));
      const { skipped, skippedInRow, count } = {
        skipped: await valueIn(state, "skipped").item(),
        skippedInRow: await valueIn(state, "skippedInRow").item(),
        count: await valueIn(state, "count").item(),
      };
      counts.push([skipped, skippedInRow, count]);
    }
    expect(counts).toEqual([
      [0, 0, 1],
      [1, 1, 1],
      [2, 2, 1],
      [2, 0, 2],
      [3, 1, 2],
    ]);
    expect(step.programs).toBe(1);
  });

  it("steps as the inner optimizer does where all is finite", async () => {
    const [plain, careful] = [training(sgd(), engine), training(skipNonFinite(sgd()), engine)];
    const start = somePlaces(engine);
    const wanted = plain.step(start, plain.init(start), someGradients(engine), {});
    const got = careful.step(start, careful.init(start), someGradients(engine), {});
    expect(await firstDifference(got.params, wanted.params)).toBeUndefined();
    expect(Object.keys(got.state).sort()).toEqual(["skipped", "skippedInRow"]);
  });
});
