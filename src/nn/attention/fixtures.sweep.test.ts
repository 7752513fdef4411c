import { describe, it } from "vitest";
import type { Value } from "../../engine/index.ts";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { inSample } from "../../sweep.test-support.ts";
import type { Model } from "../model.ts";
import { holdCase, type TorchCase } from "../recurrent/torch-cases.test-support.ts";
import { holdUpdates, trainingsOf } from "../torch-updates.test-support.ts";
import fixture from "./attention.fixture.json" with { type: "json" };
import { multiHeadAttention, transformerEncoder } from "./index.ts";

const cases = fixture.cases.filter((given) => "layer" in given) as unknown as readonly TorchCase[];
const makers = { multiHeadAttention, transformerEncoder } as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => Model<unknown, Value>>
>;

describe.each(sweepEngines())("PyTorch's numbers on %s", (engine) => {
  it.each(cases.map((given) => [given.layer, JSON.stringify(given.args), given]))(
    "%s(%s), forward and gradients",
    async (layer, _args, given) => {
      const call = given as TorchCase;
      const model = makers[layer as string]?.(...call.args) as Model<unknown, Value>;
      await holdCase(engine, call, (params, input) => model.apply(params, input));
    },
  );
});

describe.each(inSample ? [] : (["wasm", ...sweepEngines()] as const))("PyTorch's numbers on %s", (engine) => {
  it.each(trainingsOf(fixture.cases))("%s trained for 100 updates", async (_name, runs) => {
    await holdUpdates(engine, runs);
  });
});
