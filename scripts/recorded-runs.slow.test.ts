import { beforeAll, describe, expect, it } from "vitest";
import { advice, type Baseline, baselinesOf, differences, engines } from "./recorded/check.ts";
import { recordedRuns } from "./recorded/runs.ts";
import { endStateOf } from "./recorded/train.ts";

describe.each(engines())("on %s the bits of an earlier commit come out", (engine) => {
  let baselines: readonly Baseline[] = [];
  beforeAll(async () => {
    baselines = await baselinesOf(engine);
  }, 600_000);

  describe.each(recordedRuns.map(({ name }) => name))("%s", (name) => {
    it.each(["in one go", "from the checkpoint that the earlier commit took"])("%s", async (way) => {
      const baseline = baselines.find(({ run }) => run.name === name);
      if (!baseline) throw new Error(`${name} is not recorded`);
      const { run, end, checkpoint, compares } = baseline;
      const present = await endStateOf(run, engine, way === "in one go" ? undefined : checkpoint);
      for (const what of compares) {
        const differing = differences(end, present, what);
        expect(differing, advice(differing)).toEqual([]);
      }
    });
  });
});
