import { describe, it } from "vitest";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { inSample } from "../../sweep.test-support.ts";
import type { Params } from "../model.ts";
import { holdUpdates, trainingsOf } from "../torch-updates.test-support.ts";
import { type CellInput, gru, gruCell, type LstmState, lstm, lstmCell, type SequenceInput } from "./index.ts";
import fixture from "./recurrent.fixture.json" with { type: "json" };
import { holdCase, type TorchCase } from "./torch-cases.test-support.ts";

const cases = fixture.cases.filter((given) => "layer" in given) as unknown as readonly TorchCase[];

type Args = [width: number, options?: object];

/** What a case's layer gives for parameters and an input. */
function applied({ layer, args }: TorchCase): (params: Params, input: unknown) => unknown {
  if (layer.endsWith("Cell")) {
    const cell = (layer === "lstmCell" ? lstmCell : gruCell)(...(args as Args));
    return (params, input) => cell.apply(params, input as CellInput<LstmState>);
  }
  const model = (layer === "lstm" ? lstm : gru)(...(args as Args));
  return (params, input) => model.unroll(params, input as SequenceInput<LstmState>);
}

describe.each(sweepEngines())("PyTorch's numbers on %s", (engine) => {
  it.each(cases.map((given) => [given.layer, JSON.stringify(given.args), Object.keys(given.input), given]))(
    "%s(%s) of %s, forward and gradients",
    async (_layer, _args, _input, given) => {
      await holdCase(engine, given as TorchCase, applied(given as TorchCase));
    },
  );
});

describe.each(inSample ? [] : (["wasm", ...sweepEngines()] as const))("PyTorch's numbers on %s", (engine) => {
  it.each(trainingsOf(fixture.cases))("%s trained for 100 updates", async (_name, runs) => {
    await holdUpdates(engine, runs);
  });
});
