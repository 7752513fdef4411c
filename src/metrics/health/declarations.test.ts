import { expect, it } from "vitest";
import { simulate } from "../../testing/hooks/index.ts";
import { healthMetrics } from "./declarations.ts";
import { gradientMonitor, lossSpikeDetector } from "./index.ts";

it("declares exactly what the monitors log", async () => {
  const values = () => ({ loss: 1, gradientNorm: 1 });
  const { logged } = await simulate([gradientMonitor(), lossSpikeDetector()], { values });
  const names = new Set(logged.flatMap(({ values }) => Object.keys(values)));
  expect(healthMetrics.map(({ name }) => name).sort()).toEqual([...names].sort());
});
