import { describe, it } from "vitest";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { crossEntropy } from "../losses/index.ts";
import type { Params } from "../model.ts";
import { type CellInput, gru, gruCell, type LstmState, lstm, lstmCell, type SequenceInput } from "./index.ts";
import fixture from "./recurrent.fixture.json" with { type: "json" };
import {
  holdCase,
  holdTraining,
  isTraining,
  type TorchCase,
  trainingOf,
} from "./torch-cases.test-support.ts";

const cases = fixture.cases.filter((given) => !isTraining(given)) as unknown as readonly TorchCase[];

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

describe.each(testEngines())("PyTorch's numbers on %s", (engine) => {
  it.each(cases.map((given) => [given.layer, JSON.stringify(given.args), Object.keys(given.input), given]))(
    "%s(%s) of %s, forward and gradients",
    async (_layer, _args, _input, given) => {
      await holdCase(engine, given as TorchCase, applied(given as TorchCase));
    },
  );

  it("two layers of LSTM trained for 100 updates", async () => {
    const run = trainingOf(fixture.cases);
    const model = lstm(...(run.args as Args));
    await holdTraining(engine, run, (params, x, targets) => crossEntropy(model.apply(params, x), targets));
  });
});
