import { describe, expect, it } from "vitest";
import { ran, simulate } from "../../../testing/hooks/index.ts";
import type { TrainerHook } from "../../../trainer/index.ts";
import { markers } from "./markers.ts";
import { planOf, type WatchdogOptions } from "./options.ts";

/** The marks of a run, with what other hooks and the task do in between. */
async function marksOf(
  deadlines: WatchdogOptions["deadlines"],
  options: Parameters<typeof simulate>[1] = {},
): Promise<readonly string[]> {
  const marks: string[] = [];
  const children = markers(planOf({ deadlines }), {
    start: () => undefined,
    mark: (phase, event) => void marks.push(`${event}: ${phase}`),
  });
  const other: TrainerHook = {
    name: "other",
    onEpochEnd: () => void marks.push("a hook"),
    onBatchEnd: () => void marks.push("a hook of a batch"),
  };
  const values = (): Record<string, number> => {
    marks.push("a batch");
    return { loss: 1 };
  };
  const validation = (): Record<string, number> => {
    marks.push("a validation");
    return { loss: 1 };
  };
  const rolloutValues = (): Record<string, number> => {
    marks.push("a rollout");
    return { reward: 1 };
  };
  const run = await simulate([other, { name: "watchdog", children }], {
    ...{ batches: 2, values, validation, rolloutValues, ...options },
  });
  expect(run.outcome).toBe("completed");
  return marks;
}

describe("marks", () => {
  it("tell phases and hooks apart where a deadline asks for it", async () => {
    expect(await marksOf({ train: 1 }, { rollout: true })).toEqual([
      ...["onTrainingStart: hook", "onTrainingStart: other"],
      ...["onEpochStart: hook", "onEpochStart: train"],
      ...["onRolloutStart: hook", "onRolloutStart: rollout", "a rollout"],
      ...["onBatchesEnd: hook", "onBatchesEnd: rollout", "onRolloutEnd: hook", "onRolloutEnd: train"],
      ...["a batch", "onBatchesEnd: hook", "onBatchesEnd: train", "a hook of a batch"],
      ...["a batch", "onBatchesEnd: hook", "onBatchesEnd: train", "a hook of a batch"],
      ...["onTrainPhaseEnd: hook", "onTrainPhaseEnd: other"],
      ...["onValidationStart: hook", "onValidationStart: validation", "a validation"],
      ...["onValidationEnd: hook", "onValidationEnd: other"],
      ...["onEpochEnd: hook", "a hook", "onEpochEnd: other"],
      ...["onTrainingEnd: hook", "onTrainingEnd: off"],
    ]);
  });

  it("are few where they must not cost anything", async () => {
    expect(await marksOf({ any: 1, validation: 2 })).toEqual([
      ...["onTrainingStart: hook", "onTrainingStart: other"],
      ...["a batch", "onBatchesEnd: hook", "onBatchesEnd: other", "a hook of a batch"],
      ...["a batch", "onBatchesEnd: hook", "onBatchesEnd: other", "a hook of a batch"],
      ...["onValidationStart: hook", "onValidationStart: validation", "a validation"],
      ...["onValidationEnd: hook", "onValidationEnd: other"],
      "a hook",
      ...["onTrainingEnd: hook", "onTrainingEnd: off"],
    ]);
  });

  it.each<[string, WatchdogOptions["deadlines"], readonly number[]]>([
    ["any alone leaves everything fused", { any: 9 }, [30]],
    ["phases leave the batches of an epoch fused", { train: 9 }, [10, 20, 30]],
  ])("%s", async (_title, deadlines, calls) => {
    const children = markers(planOf({ deadlines }), { start: () => undefined, mark: () => undefined });
    const run = await simulate({ name: "watchdog", children }, { epochs: 3, fuse: true });
    expect(ran(run, "watchdog.begin", "batches", "onBatchesEnd")).toEqual(calls);
  });
});
