import { describe, expect, it } from "vitest";
import { manualClock } from "../core/index.ts";
import { byMetric, every } from "../schedule/index.ts";
import { hashState, type StateTree } from "../state/index.ts";
import { type TrainerContext, type TrainerEvent, type TrainerHook, trainerEvents } from "./events.ts";
import { withoutStop } from "./progress.ts";
import { FakeTask, recorder, rollout, train } from "./task.test-support.ts";
import type { Frozen } from "./task.ts";
import { Trainer } from "./trainer.ts";

const inner = trainerEvents.filter(
  (event) => !["onTrainingStart", "onTrainingEnd", "onError"].includes(event),
);

/** A run with rollouts, batches, validation and a ramp that follows; `events` are watched, one line each. */
function made(fuse: boolean, more: readonly TrainerHook[] = [], events: readonly TrainerEvent[] = inner) {
  const clock = manualClock();
  const rate = byMetric({ metric: "train/loss", initial: 0.5, transform: (x) => x / 10, ema: 0.5 });
  const task = new FakeTask({
    epoch: ({ epoch }) => [rollout(2), train(3 + epoch), train(1)],
    ramps: { rate },
    validate: true,
    onRun: () => clock.advance(100),
  });
  const { hook, lines } = recorder(events, {}, ({ event, counters, since, state }) => {
    const { seconds: _, ...counts } = counters;
    const { seconds: __, ...before } = since ?? counters;
    return `${event} ${state.phase} ${JSON.stringify([counts, since && before])} ${task.w}`;
  });
  const config = { epochs: 3, validate: every({ epochs: 2 }), fuse, seed: 5 };
  return { trainer: new Trainer({ task, config, clock, hooks: [hook, ...more] }), lines, task };
}

const restoring = (frozen: () => Frozen): TrainerHook => ({
  name: "restore",
  onTrainingStart: async ({ components }) => {
    for (const [name, state] of Object.entries(frozen().components)) await components[name]?.setState(state);
  },
});

/** Takes a state in the nth watched event, after the recorder. */
function saver(nth: number, saved: (frozen: Frozen) => void, events: readonly TrainerEvent[]): TrainerHook {
  let seen = 0;
  const save = async ({ snapshot, random }: TrainerContext) => {
    random.get("hook").key();
    if (seen++ === nth) saved(await snapshot());
  };
  return { name: "save", after: ["recorder"], ...Object.fromEntries(events.map((event) => [event, save])) };
}

const stateOf = async (frozen: Frozen): Promise<string> => {
  const { time: _, ...rest } = frozen.components;
  return hashState(rest as StateTree);
};

describe.each([
  ["one by one, every event", false, inner],
  ["fused, every event", true, inner],
  ["fused, after calls and epochs", true, ["onBatchesEnd", "onEpochEnd"]],
  ["fused, after validation", true, ["onValidationEnd"]],
] as const)("a state taken: %s", (_name, fuse, events) => {
  it("goes on after that event, with the same events, counters and numbers", async () => {
    let end: Frozen | undefined;
    const last: TrainerHook = {
      name: "last",
      onTrainingEnd: async ({ snapshot }) => {
        end = await snapshot();
      },
    };
    const whole = made(fuse, [saver(-1, () => {}, events), last], events);
    await whole.trainer.train();
    const expectedEnd = await stateOf(end as Frozen);
    expect(whole.lines.length).toBeGreaterThan(0);
    for (let nth = 0; nth < whole.lines.length; nth++) {
      let frozen: Frozen | undefined;
      const first = made(
        fuse,
        [
          saver(
            nth,
            (taken) => {
              frozen = taken;
            },
            events,
          ),
        ],
        events,
      );
      await first.trainer.train();
      const second = made(
        fuse,
        [restoring(() => frozen as Frozen), saver(-1, () => {}, events), last],
        events,
      );
      const result = await second.trainer.train();
      expect([...whole.lines.slice(0, nth + 1), ...second.lines]).toEqual(whole.lines);
      expect(second.task.w).toBe(whole.task.w);
      expect(result.outcome).toBe("completed");
      expect(await stateOf(end as Frozen)).toBe(expectedEnd);
    }
  });
});

describe("a stopped run", () => {
  it("goes on in the middle of its epoch, from the state it had at its end", async () => {
    const whole = made(true, [], ["onEpochStart", "onEpochEnd"]);
    await whole.trainer.train();
    const first = made(
      true,
      [
        {
          name: "stop",
          onBatchEnd: ({ counters, stop }) => (counters.batches === 6 ? stop("enough") : undefined),
        },
      ],
      ["onEpochStart", "onEpochEnd"],
    );
    expect(await first.trainer.train()).toMatchObject({
      outcome: "stopped",
      counters: { batches: 6, epochs: 1 },
    });
    const frozen = Object.fromEntries(
      await Promise.all(
        Object.entries(first.trainer.components).map(
          async ([name, part]) => [name, await part.getState()] as const,
        ),
      ),
    );
    const second = made(true, [], ["onEpochStart", "onEpochEnd"]);
    for (const [name, state] of Object.entries(frozen))
      await second.trainer.components[name]?.setState(name === "trainer" ? withoutStop(state) : state);
    const result = await second.trainer.train();
    expect([...first.lines, ...second.lines]).toEqual(whole.lines);
    expect(second.task.w).toBe(whole.task.w);
    expect(result.counters.batches).toBe(whole.trainer.result?.counters.batches);
  });

  it("counts seconds from where it stopped", async () => {
    const seconds: number[] = [];
    const note: TrainerHook = {
      name: "note",
      onTrainingEnd: ({ counters }) => void seconds.push(counters.seconds),
    };
    const first = made(false, [note]);
    await first.trainer.train();
    const second = made(false, [note]);
    const time = await first.trainer.components.time?.getState();
    await second.trainer.components.time?.setState(time as StateTree);
    await second.trainer.train();
    expect(seconds[1]).toBeCloseTo(2 * (seconds[0] as number), 9);
  });

  it("does nothing more where no epochs are left", async () => {
    const first = made(true);
    await first.trainer.train();
    const second = made(true);
    const state = await first.trainer.components.trainer?.getState();
    await second.trainer.components.trainer?.setState(state as StateTree);
    expect(await second.trainer.train()).toMatchObject({ outcome: "completed", counters: { epochs: 3 } });
    expect(second.lines).toEqual([]);
  });

  it("can be taken back to an earlier state on the way", async () => {
    const at = recorder(["onBatchEnd"], { name: "every 4", schedule: every({ updates: 4 }) });
    let saved: Frozen | undefined;
    let restored = false;
    const rollback: TrainerHook = {
      name: "rollback",
      onEpochEnd: async ({ counters, snapshot, components }) => {
        if (counters.epochs === 1) saved = await snapshot();
        if (counters.epochs < 2 || restored) return;
        restored = true;
        for (const [name, state] of Object.entries(saved?.components ?? {}))
          await components[name]?.setState(state);
      },
    };
    const whole = made(true, [], ["onEpochEnd"]);
    await whole.trainer.train();
    const { trainer, task, lines } = made(true, [at.hook, rollback], ["onEpochEnd"]);
    await trainer.train();
    expect(at.lines.map((line) => line.split("/").at(-1))).toEqual(["4", "8", "8", "12"]);
    expect(lines.map((line) => JSON.parse(/\[.*\]/.exec(line)?.[0] ?? "")[0].epochs)).toEqual([1, 2, 2, 3]);
    expect(task.w).toBe(whole.task.w);
  });

  it("refuses to go on in an epoch of another shape", async () => {
    const { trainer } = made(false, [
      {
        name: "stop",
        onBatchEnd: ({ counters, stop }) => (counters.batches === 3 ? stop("here") : undefined),
      },
    ]);
    await trainer.train();
    const state = await trainer.components.trainer?.getState();
    for (const epoch of [() => [rollout(2), train(2)], () => [rollout(9)]]) {
      const other = new Trainer({ task: new FakeTask({ epoch }) });
      await other.components.trainer?.setState(withoutStop(state as StateTree));
      await expect(other.train()).rejects.toThrow(/segment \d, after \d repeats.*\[STATE_INVALID\]/);
    }
  });

  it("refuses a state of something else", async () => {
    const { trainer } = made(true);
    expect(() => trainer.components.trainer?.setState({ a: 1 })).toThrow(/STATE_INVALID/);
    const state = (await trainer.components.trainer?.getState()) as { place: object };
    const odd = { ...state, place: { ...state.place, next: "onLunch" } };
    expect(() => trainer.components.trainer?.setState(odd as StateTree)).toThrow(/STATE_INVALID/);
    expect(() => trainer.components.time?.setState({ a: 1 })).toThrow(/STATE_INVALID/);
  });
});
