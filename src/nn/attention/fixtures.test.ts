import { describe, it } from "vitest";
import type { Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { crossEntropy } from "../losses/index.ts";
import type { Model } from "../model.ts";
import {
  holdCase,
  holdTraining,
  isTraining,
  type TorchCase,
  trainingOf,
} from "../recurrent/torch-cases.test-support.ts";
import fixture from "./attention.fixture.json" with { type: "json" };
import { multiHeadAttention, transformer, transformerEncoder } from "./index.ts";

const cases = fixture.cases.filter((given) => !isTraining(given)) as unknown as readonly TorchCase[];
const makers = { multiHeadAttention, transformerEncoder } as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => Model<unknown, Value>>
>;

describe.each(testEngines())("PyTorch's numbers on %s", (engine) => {
  it.each(cases.map((given) => [given.layer, JSON.stringify(given.args), given]))(
    "%s(%s), forward and gradients",
    async (layer, _args, given) => {
      const call = given as TorchCase;
      const model = makers[layer as string]?.(...call.args) as Model<unknown, Value>;
      await holdCase(engine, call, (params, input) => model.apply(params, input));
    },
  );

  it("a small language model trained for 100 updates", async () => {
    const run = trainingOf(fixture.cases);
    const model = transformer(...(run.args as Parameters<typeof transformer>));
    await holdTraining(engine, run, (params, x, targets) => crossEntropy(model.apply(params, x), targets));
  });
});
