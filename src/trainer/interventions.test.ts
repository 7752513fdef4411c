import { expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import { linear, never } from "../schedule/index.ts";
import type { TrainerContext, TrainerHook } from "./events.ts";
import { FakeTask, train } from "./task.test-support.ts";
import { Trainer } from "./trainer.ts";

/** Does something after a batch, and trains ten. */
async function after(
  acts: Readonly<Record<number, (context: TrainerContext) => unknown>>,
  { hooks = [] as readonly TrainerHook[], clock = manualClock() } = {},
) {
  const ramps = { rate: linear({ from: 0, to: 1, over: { batches: 10 } }) };
  const task = new FakeTask({ epoch: () => [train(10)], ramps });
  const act: TrainerHook = {
    name: "act",
    onBatchEnd: (context) => acts[context.counters.batches]?.(context),
  };
  const config = { epochs: 1, handleSignals: false };
  const trainer = new Trainer({ task, hooks: [act, ...hooks], config, clock, warn: () => undefined });
  const result = await trainer.train();
  const rates = task.requests.flatMap(({ ramps }) => [...(ramps.rate ?? [])]);
  return { rates: rates.map((rate) => Number(rate.toFixed(4))), result };
}

it("a ramp that is set has this value, scaled by what it is scaled by later, until it is its own again", async () => {
  const { rates } = await after({
    1: ({ interventions }) => interventions.scaleRamp("rate", 0.5),
    2: ({ interventions }) => {
      interventions.setRamp("rate", 8);
      expect(interventions.ramps()).toEqual({ rate: { value: 8, set: 8, factor: 0.5 } });
    },
    4: ({ interventions }) => interventions.scaleRamp("rate", 0.25),
    6: ({ interventions }) => {
      interventions.setRamp("rate", undefined);
      expect(interventions.ramps()).toEqual({ rate: { value: 0.15, set: undefined, factor: 0.25 } });
    },
    // As a run that is resumed sets it: it was scaled by 0.5 then.
    8: ({ interventions }) => interventions.setRamp("rate", 8, 0.5),
  });
  expect(rates).toEqual([0, 0.05, 8, 8, 4, 4, 0.15, 0.175, 4, 4]);
});

it.each([
  ["rat", 1, /RAMP_UNKNOWN.*rate/s],
  ["rate", Number.NaN, /RAMP_NOT_FINITE/],
  ["rate", 1e39, /RAMP_NOT_FINITE/],
])("a ramp %s cannot be set to %s", async (name, value, message) => {
  const set = ({ interventions }: TrainerContext): void => interventions.setRamp(name, value);
  await expect(after({ 1: set })).rejects.toThrow(message);
});

it("a hook is run in the event under way, or the first after work that it handles", async () => {
  const calls: string[] = [];
  const hook = (name: string, ...events: readonly ("onBatchEnd" | "onEpochEnd" | "onTrainingStart")[]) => ({
    name,
    schedule: never(),
    ...Object.fromEntries(events.map((event) => [event, () => void calls.push(`${name} ${event}`)])),
  });
  const hooks = [
    hook("both", "onTrainingStart", "onEpochEnd", "onBatchEnd"),
    hook("epochs", "onTrainingStart", "onEpochEnd"),
    hook("start", "onTrainingStart"),
  ];
  const ran: boolean[] = [];
  await after(
    {
      3: async ({ interventions }) => {
        for (const { name } of hooks) ran.push(await interventions.runHook(name));
      },
    },
    { hooks },
  );
  expect(ran).toEqual([true, true, false]);
  expect(calls).toEqual(["both onBatchEnd", "epochs onEpochEnd"]);
});

it("time in which the run stands still does not count", async () => {
  const clock = manualClock();
  const { result } = await after(
    {
      2: () => clock.advance(1000),
      3: ({ interventions }) => interventions.standStill(async () => clock.advance(60_000)),
      4: ({ interventions }) =>
        interventions
          .standStill(async () => {
            clock.advance(60_000);
            throw new Error("enough");
          })
          .catch(() => undefined),
    },
    { clock },
  );
  expect([result.timings.seconds, result.counters.seconds]).toEqual([1, 1]);
});
