import { describe, expect, it } from "vitest";
import { noCounters } from "../../schedule/index.ts";
import { ran, simulate } from "../../testing/index.ts";
import { type TrainerHook, trainerEvents } from "../../trainer/index.ts";
import {
  Board,
  type BoardPhase,
  markers,
  phases,
  places,
  settingsOf,
  type WatchdogOptions,
  watchdogHook,
} from "./watchdog.ts";
import { endProcess, type Looked, type WatchdogReport, watchMain } from "./watchdog-thread.ts";

describe("options of watchdogHook", () => {
  it.each<[string, object, RegExp]>([
    ["no deadlines", {}, /deadlines is missing/],
    ["not one deadline", { deadlines: { train: undefined } }, /there is no deadline.*leave the hook out/s],
    [
      "an unknown phase",
      { deadlines: { trian: 5 } },
      /deadlines: there is no option "trian"; did you mean "train"/,
    ],
    ["no time at all", { deadlines: { any: 0 } }, /deadlines: any is 0/],
    ["a time for ever", { deadlines: { any: Number.POSITIVE_INFINITY } }, /deadlines: any is Infinity/],
    ["an unknown answer", { deadlines: { any: 5 }, onExceeded: "kill" }, /onExceeded is "kill".*"exit"/],
    ["a file that is none", { deadlines: { any: 5 }, file: "" }, /file is ""/],
    ["misspelt names", { deadlines: { any: 5 }, onExeeded: "exit" }, /did you mean "onExceeded"/],
  ])("refuse %s", (_title, options, message) => {
    expect(() => watchdogHook(options as WatchdogOptions)).toThrow(message);
  });
});

it("says where a file cannot be added to, also below /proc, and watches all the same", async () => {
  const hook = watchdogHook({ deadlines: { any: 600 }, file: "/proc/none/watchdog.txt" });
  const { outcome, warnings } = await simulate([hook], { batches: 1 });
  expect(outcome).toBe("completed");
  expect(warnings).toEqual([expect.stringContaining("cannot be added to /proc/none/watchdog.txt")]);
});

/** The marks of a run, with what other hooks and the task do in between. */
async function marksOf(
  deadlines: WatchdogOptions["deadlines"],
  options: Parameters<typeof simulate>[1] = {},
): Promise<readonly string[]> {
  const marks: string[] = [];
  const children = markers(settingsOf({ deadlines }), {
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
    const children = markers(settingsOf({ deadlines }), { start: () => undefined, mark: () => undefined });
    const run = await simulate({ name: "watchdog", children }, { epochs: 3, fuse: true });
    expect(ran(run, "watchdog.begin", "batches", "onBatchesEnd")).toEqual(calls);
  });
});

/** The watching thread's work, by a clock that is moved by hand; a deadline of 1 s for training, 10 s for hooks. */
function watching({
  exit = false,
  look = async () => {},
}: {
  exit?: boolean;
  look?: () => Promise<void>;
} = {}) {
  const board = new Board();
  const reports: WatchdogReport[] = [];
  const done: string[] = [];
  let time = 0;
  let every = 0;
  let tick = (): void => undefined;
  const found: Looked = {
    ...{ doing: "waiting", stack: [], details: "FSReqPromise" },
    exit: (code) => void done.push(`exit ${code}`),
    release: () => void done.push("released"),
  };
  const data = {
    ...{ board: board.shared, places, phases, events: trainerEvents, exit, run: "mine", pid: 7 },
    deadlines: phases.map((phase) => ({ train: 1, hook: 10 })[phase as string]),
  };
  watchMain(data, {
    now: () => time,
    repeat: (work, milliseconds) => {
      tick = work;
      every = milliseconds;
    },
    look: async () => {
      await look();
      return found;
    },
    tell: (report) => void reports.push(report),
    end: (exit) => exit(124),
  });
  return {
    ...{ reports, done },
    mark: (phase: BoardPhase) => board.mark(phase, "onBatchesEnd", { ...noCounters, epoch: 3, updates: 70 }),
    /** Lets time go by in the thread's own steps. */
    pass: async (milliseconds: number) => {
      for (const end = time + milliseconds; time < end; ) {
        time += every;
        tick();
      }
      for (let i = 0; i < 5; i++) await Promise.resolve();
    },
    /** The whole process stands still. */
    stand: (milliseconds: number) => {
      time += milliseconds;
      tick();
    },
  };
}

describe("the watching thread", () => {
  it("reports a phase that exceeds its deadline, once", async () => {
    const { mark, pass, reports, done } = watching();
    mark("train");
    await pass(900);
    expect(reports).toEqual([]);
    await pass(5000);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatchObject({
      phase: "train",
      event: "onBatchesEnd",
      deadline: 1,
      epoch: 3,
      updates: 70,
    });
    expect(reports[0]?.text).toMatch(/^espalier watchdog: train has taken 1.\d s, more than 1 s\n/);
    expect(reports[0]?.text).toMatch(/the main thread waits \(FSReqPromise\)/);
    expect(done).toEqual(["released"]);
    mark("train");
    await pass(1500);
    expect(reports).toHaveLength(2);
  });

  it("is content with a run that goes on, and with what has no deadline", async () => {
    const { mark, pass, reports } = watching();
    for (let i = 0; i < 20; i++) {
      mark("train");
      await pass(900);
      mark("hook");
      await pass(5000);
    }
    mark("off");
    await pass(100_000);
    mark("validation");
    await pass(100_000);
    expect(reports).toEqual([]);
  });

  it("does not count time for which the process stood still", async () => {
    const { mark, pass, stand, reports } = watching();
    mark("train");
    await pass(300);
    stand(3_600_000);
    expect(reports).toEqual([]);
    await pass(1000);
    expect(reports).toHaveLength(1);
  });

  it("ends the process, but not one that has gone on by then", async () => {
    const hanging = watching({ exit: true });
    hanging.mark("train");
    await hanging.pass(2000);
    expect(hanging.done).toEqual(["exit 124"]);
    expect(hanging.reports[0]?.text).toMatch(/the process is ended: code 124, .*\n$/);
    const late: ReturnType<typeof watching> = watching({ exit: true, look: async () => late.mark("train") });
    late.mark("train");
    await late.pass(1050);
    expect(late.done).toEqual(["released"]);
    expect(late.reports[0]?.text).toMatch(/gone on meanwhile/);
  });
});

describe("ending the process", () => {
  it("asks first, then kills", () => {
    const said: string[] = [];
    const later: (() => void)[] = [];
    const kill = () => void said.push("kill");
    endProcess(
      (code) => void said.push(`exit ${code}`),
      (work) => later.push(work),
      kill,
    );
    expect(said).toEqual(["exit 124"]);
    later[0]?.();
    expect(said).toEqual(["exit 124", "kill"]);
  });

  it("kills at once where the main thread does not answer", () => {
    const said: string[] = [];
    const kill = () => void said.push("kill");
    const exit = () => {
      throw new Error("no answer");
    };
    endProcess(exit, () => said.push("later"), kill);
    expect(said).toEqual(["kill"]);
  });
});
