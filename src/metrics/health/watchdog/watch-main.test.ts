import { describe, expect, it } from "vitest";
import { noCounters } from "../../../schedule/index.ts";
import { trainerEvents } from "../../../trainer/index.ts";
import { Board, type BoardPhase, phases, places } from "./board.ts";
import { endProcess } from "./end-process.ts";
import type { Looked } from "./look.ts";
import { reportText, type WatchdogReport } from "./report.ts";
import { watchMain } from "./watch-main.ts";

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
    text: reportText,
    tell: (report) => void reports.push(report),
    end: (ask) => ask(124),
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
  const ways = (exitNow?: () => void) => {
    const said: string[] = [];
    const later: (() => void)[] = [];
    const parts = {
      exitNow:
        exitNow &&
        (() => {
          said.push("_exit");
          exitNow();
        }),
      kill: () => void said.push("kill"),
      later: (work: () => void) => void later.push(work),
    };
    return { said, later, parts };
  };

  it("asks first, then forces", () => {
    const { said, later, parts } = ways(() => undefined);
    endProcess((code) => void said.push(`ask ${code}`), parts);
    expect(said).toEqual(["ask 124"]);
    later[0]?.();
    // A real _exit does not come back.
    expect(said).toEqual(["ask 124", "_exit", "kill"]);
  });

  it("forces at once where nobody can be asked, by a signal where there is nothing else", () => {
    const nobody = () => {
      throw new Error("nobody answers");
    };
    const without = ways();
    endProcess(nobody, without.parts);
    expect(without.said).toEqual(["kill"]);
    const broken = ways(() => {
      throw new Error("no such function");
    });
    endProcess(nobody, broken.parts);
    expect(broken.said).toEqual(["_exit", "kill"]);
  });
});
