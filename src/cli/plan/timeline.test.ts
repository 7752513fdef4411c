import { describe, expect, it } from "vitest";
import { manualClock } from "../../core/index.ts";
import { always, at, between, cycle, every, never, type Schedule, when } from "../../schedule/index.ts";
import { type SimulationOptions, scriptedTask, simulate } from "../../testing/hooks/simulate.ts";
import { Trainer, type TrainerEvent, type TrainerHook } from "../../trainer/index.ts";
import { layOut, timeline } from "./timeline.ts";

const events: readonly TrainerEvent[] = [
  ...([
    "onTrainingStart",
    "onEpochStart",
    "onRolloutStart",
    "onRolloutEnd",
    "onBatchStart",
    "onBatchEnd",
  ] as const),
  ...(["onTrainPhaseEnd", "onValidationStart", "onValidationEnd", "onEpochEnd", "onTrainingEnd"] as const),
];

const hookWith = (schedule: Schedule | undefined, name = "it"): TrainerHook => ({
  name,
  ...(schedule && { schedule }),
  ...Object.fromEntries(events.map((event) => [event, () => undefined])),
});

/** The timelines of hooks in a scripted run. */
function planned(hooks: readonly TrainerHook[], script: SimulationOptions, most = 10_000, width = 10) {
  const task = scriptedTask(script, manualClock());
  const trainer = new Trainer({
    task,
    hooks,
    config: { handleSignals: false, ...script.config, epochs: script.epochs ?? 1 },
  });
  const layout = layOut(task, trainer.config, most);
  return { layout, hooks: trainer.hooks.plan().hooks.map((hook) => timeline(hook, layout, width)) };
}

const schedules: readonly (Schedule | undefined)[] = [
  undefined,
  ...[always(), never(), every({ epochs: 1 }), every({ epochs: 2 }), every({ updates: 7 })],
  ...[every({ samples: 50, from: 10 }), at({ batches: [0, 3, 11] }), between({ updates: [5, 12] })],
  ...[cycle({ epochs: 3, active: [2] }), every({ updates: 3 }).and(between({ epochs: [1, 2] }))],
  ...[every({ updates: 4 }).or(at({ epochs: 3 })), every({ epochs: 2 }).not(), every({ seconds: 60 })],
];

const scripts: readonly SimulationOptions[] = [
  { epochs: 4, batches: 6, samplesPerBatch: 4 },
  { epochs: 5, batches: 3, rollout: 24, validation: { loss: 1 } },
  { epochs: 4, batches: 8, validation: { loss: 1 }, config: { validate: every({ updates: 5 }) } },
  {
    epochs: 6,
    batches: 5,
    validation: { loss: 1 },
    config: { maxUpdates: 13, validate: every({ epochs: 2 }) },
  },
  { epochs: 6, batches: 5, rollout: true, config: { maxSamples: 12 } },
];

describe("timeline", () => {
  it.each(scripts)("says when hooks run, as a run of %j has it", async (script) => {
    const hooks = schedules.map((schedule, i) => hookWith(schedule, `hook ${i}`));
    const { calls } = await simulate(hooks, { secondsPerBatch: 0, ...script });
    const { hooks: found } = planned(hooks, script);
    const { moments, told } = { moments: new Map<string, unknown>(), told: new Map<string, unknown>() };
    for (const { name, events } of found)
      for (const { event, times, moments: first, maybe } of events) {
        expect(maybe).toBe(0);
        told.set(`${name} ${event}`, [
          times,
          first.map(({ epochs, updates, samples }) => [epochs, updates, samples]),
        ]);
        const ran = calls.filter((call) => call.hook === name && call.event === event);
        const where = ran
          .slice(0, 20)
          .map(({ counters: { epochs, updates, samples } }) => [epochs, updates, samples]);
        moments.set(`${name} ${event}`, [ran.length, where]);
      }
    expect(told.size).toBe(schedules.length * events.length);
    expect(told).toEqual(moments);
  });

  it("draws the parts of the run in which a hook runs", () => {
    const bar = (hook: TrainerHook) => planned([hook], { epochs: 10, batches: 10 }).hooks[0]?.bar;
    expect(bar({ name: "a", schedule: every({ epochs: 2 }), onEpochEnd: () => {} })).toBe(".#.#.#.#.#");
    expect(bar({ name: "a", schedule: every({ epochs: 2 }), onEpochStart: () => {} })).toBe("..#.#.#.#.");
    expect(bar({ name: "a", schedule: at({ updates: 55 }), onBatchEnd: () => {} })).toBe(".....#....");
    expect(bar({ name: "a", onBatchEnd: () => {} })).toBe("##########");
    expect(bar({ name: "a", onTrainingEnd: () => {} })).toBe(".........#");
    expect(bar({ name: "a", shouldRun: () => true, onEpochEnd: () => {} })).toBe("??????????");
    expect(bar({ name: "a", schedule: every({ seconds: 1 }), onBatchEnd: () => {} })).toBe("??????????");
  });

  it("says what only the run can know", () => {
    const sure = (hook: TrainerHook) => planned([hook], { epochs: 4, batches: 5 }).hooks[0]?.events[0];
    const late = when(({ counters }) => counters.epochs > 2);
    const lossy = when<never>((context: { state: { loss: number } }) => context.state.loss > 1);
    expect(sure({ name: "a", schedule: every({ seconds: 5 }), onEpochEnd() {} })).toMatchObject({
      ...{ times: 0, unforeseen: ["seconds"] },
    });
    // Conditions on counters are asked; those on metrics cannot be.
    expect(sure({ name: "a", schedule: every({ epochs: 1 }).and(late), onEpochEnd() {} })).toMatchObject({
      times: 2,
    });
    expect(sure({ name: "a", schedule: every({ epochs: 2 }).and(lossy), onEpochEnd() {} })).toMatchObject({
      ...{ times: 0, maybe: 2 },
    });
    expect(sure({ name: "a", schedule: lossy, onBatchEnd() {} })).toMatchObject({ times: 0, maybe: 20 });
  });

  it("lays out as many epochs as asked of a run without an end", () => {
    const hook: TrainerHook = { name: "a", schedule: every({ epochs: 5 }), onEpochEnd() {} };
    const { layout, hooks } = planned([hook], { epochs: Number.POSITIVE_INFINITY, batches: 2 }, 20);
    expect(layout).toMatchObject({ complete: false, end: { epochs: 20, batches: 40 } });
    expect(hooks[0]?.events[0]).toMatchObject({ times: 4, last: { epochs: 20 } });
  });

  it("asks a schedule a bounded number of times", () => {
    let asked = 0;
    const each = every({ updates: 1 });
    const counting: Schedule = { ...each, due: (moment) => ++asked > 0 && each.due(moment) };
    const hook: TrainerHook = { name: "a", schedule: counting, onBatchEnd() {} };
    const { hooks } = planned([hook], { epochs: 100, batches: 10_000 });
    expect(asked).toBeLessThan(6000);
    expect(hooks[0]).toMatchObject({ bar: "##########", events: [{ more: true }] });
  });
});
