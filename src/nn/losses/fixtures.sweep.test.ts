import { describe, it } from "vitest";
import { sweepEngines } from "../../engine/run/engines.test-support.ts";
import { holdUpdates, trainingsOf } from "../torch-updates.test-support.ts";
import fixture from "./losses.fixture.json" with { type: "json" };

/** A dense layer that learns through each loss: see scripts/fixtures/nn_losses.py. */
describe.each(sweepEngines())("PyTorch's numbers on %s", (engine) => {
  it.each(trainingsOf(fixture.cases))("100 updates by %s", async (_name, runs) => {
    await holdUpdates(engine, runs);
  });
});
