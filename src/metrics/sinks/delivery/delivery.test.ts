import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EspalierError } from "../../../core/index.ts";
import { completed, runInfo } from "../../../testing/sinks/records.ts";
import {
  answer,
  delivered,
  failing,
  newFolder,
  openDelivery,
  steps,
  TestSink,
} from "./delivery.test-support.ts";
import { settle } from "./timers.test-support.ts";

describe("a sink that works", () => {
  it("has its records when send returns", () => {
    const { sink, delivery } = openDelivery();
    delivery.send(steps(1, 3));
    delivery.send(steps(4));
    expect(sink.held).toEqual([1, 2, 3, 4]);
    expect(sink.calls).toEqual(["open", "write 1 2 3", "write 4"]);
    expect(delivery.summary()).toEqual({
      name: "test",
      written: 4,
      waiting: 0,
      spilled: 0,
      lost: 0,
      failures: 0,
      lastError: undefined,
    });
  });

  it("leaves nothing in the spill directory", async () => {
    const spill = newFolder();
    const { delivery } = openDelivery({ spill });
    delivery.send(steps(1, 3));
    await delivery.close(completed);
    expect(() => readdirSync(spill)).toThrow(/ENOENT/);
  });

  it("gets records that came before the run was opened", () => {
    const { sink, delivery } = delivered();
    delivery.send(steps(1));
    expect(sink.calls).toEqual([]);
    delivery.open(runInfo("a-run"));
    delivery.send(steps(2));
    expect(sink.held).toEqual([1, 2]);
  });

  it("needs neither open nor close", async () => {
    const held: number[] = [];
    const { delivery } = openDelivery({}, { name: "x", write: (r) => void held.push(r.length) } as TestSink);
    delivery.send(steps(1, 3));
    await delivery.close(completed);
    expect(held).toEqual([3]);
  });
});

describe("an asynchronous sink", () => {
  it("is called once at a time, in order; what came meanwhile comes in one call", async () => {
    const { sink, delivery, time } = openDelivery();
    const first = answer();
    sink.next.write.push(() => first.promise);
    delivery.send(steps(1));
    delivery.send(steps(2));
    delivery.send(steps(3, 4));
    expect(sink.calls).toEqual(["open", "write 1"]);
    expect(delivery.summary()).toMatchObject({ written: 0, waiting: 4 });
    first.give();
    await time.pass(0);
    expect(sink.calls.slice(2)).toEqual(["write 2 3 4"]);
    expect(sink.held).toEqual([1, 2, 3, 4]);
    await time.pass(60_000);
    expect(delivery.summary().failures).toBe(0);
  });

  it("is waited for by close", async () => {
    const { sink, delivery, time, said } = openDelivery();
    const [first, last] = [answer(), answer()];
    sink.next.write.push(() => first.promise);
    sink.next.close.push(() => last.promise);
    delivery.send(steps(1));
    delivery.send(steps(2));
    let closed = false;
    const closing = delivery.close(completed).then(() => {
      closed = true;
    });
    first.give();
    await time.pass(1);
    expect(sink.calls).toEqual(["open", "write 1", "write 2", "close"]);
    expect(closed).toBe(false);
    last.give();
    await closing;
    expect(said).toEqual([]);
  });
});

describe("a sink that fails", () => {
  it("is called again with the same records, each time later, and gets everything in order", async () => {
    const { sink, delivery, time } = openDelivery();
    sink.down = true;
    delivery.send(steps(1, 2));
    delivery.send(steps(3));
    await time.pass(100_000);
    expect(time.waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    expect(new Set(sink.calls.slice(1))).toEqual(new Set(["write 1 2"]));
    sink.down = false;
    await time.pass(30_000);
    expect(sink.held).toEqual([1, 2, 3]);
    expect(delivery.summary()).toMatchObject({ written: 3, waiting: 0, failures: 11, lastError: "down" });
  });

  it("is called again by send, where nobody lets timers run", () => {
    const { sink, delivery, time } = openDelivery();
    sink.next.write.push(failing());
    delivery.send(steps(1));
    delivery.send(steps(2));
    expect(sink.held).toEqual([]);
    time.clock.advance(100);
    delivery.send(steps(3));
    delivery.send(steps(4));
    expect(sink.held).toEqual([1, 2, 3, 4]);
  });

  it("is told of once, with the cause and what becomes of the values; its recovery once", async () => {
    const { sink, delivery, time, said } = openDelivery();
    for (const step of [1, 3]) {
      sink.next.write.push(failing("no route"), failing("no route"));
      delivery.send(steps(step));
      delivery.send(steps(step + 1));
      await time.pass(1000);
    }
    expect(sink.held).toEqual([1, 2, 3, 4]);
    expect(said).toEqual([
      'sink "test" fails: no route. Training goes on; what it does not take waits, up to 10000 values in memory, and is then lost',
      'sink "test" works again; what waited comes now: 1 value',
    ]);
  });

  it("may fail to open: it is opened again before it is written to", async () => {
    const { sink, delivery, time } = delivered();
    sink.next.open.push(failing(), () => Promise.reject(new Error("still down")));
    delivery.open(runInfo("a-run"));
    delivery.send(steps(1));
    await time.pass(1000);
    expect(sink.calls).toEqual(["open", "open", "open", "write 1"]);
  });

  it("may throw anything, from any call, and training does not hear of it", async () => {
    const { sink, delivery, time } = openDelivery();
    Object.assign(sink, {
      progress: failing("no progress"),
      message: () => Promise.reject(new Error("no message")),
    });
    sink.next.write.push(() => {
      throw undefined;
    });
    sink.next.close.push(() => Promise.reject(new Error("no close")));
    delivery.send(steps(1));
    delivery.progress({ counters: completed.counters, unit: "epochs", done: 1, total: 2, rate: 1, left: 1 });
    delivery.message("hello");
    const closing = delivery.close(completed);
    await time.pass(1000);
    await closing;
    expect(sink.held).toEqual([1]);
    expect(sink.calls.filter((call) => call === "close")).toHaveLength(2);
    expect(delivery.summary().failures).toBe(4);
  });

  it("whose warnings nobody can hear goes on all the same", async () => {
    const { sink, delivery, time } = openDelivery({ warn: failing("deaf") });
    sink.next.write.push(failing());
    delivery.send(steps(1));
    await time.pass(100);
    expect(sink.held).toEqual([1]);
  });
});

describe("a sink that hangs", () => {
  it("counts as failing after the deadline, and is not called a second time meanwhile", async () => {
    const { sink, delivery, time, said } = openDelivery();
    const silent = answer();
    sink.next.write.push(() => silent.promise);
    delivery.send(steps(1));
    delivery.send(steps(2));
    await time.pass(29_999);
    expect(delivery.summary().failures).toBe(0);
    await time.pass(100_000);
    expect(delivery.summary()).toMatchObject({ failures: 1, waiting: 2 });
    expect(said[0]).toContain('sink "test" fails: no answer for 30 s');
    expect(sink.calls).toEqual(["open", "write 1"]);
  });

  it("and answers late has each record once, in order", async () => {
    const { sink, delivery, time } = openDelivery();
    const late = answer();
    sink.next.write.push(() => late.promise);
    delivery.send(steps(1));
    delivery.send(steps(2));
    await time.pass(60_000);
    late.give();
    await time.pass(0);
    expect(sink.held).toEqual([1, 2]);
    expect(delivery.summary()).toMatchObject({ written: 2, waiting: 0 });
  });

  it("and fails late is called again", async () => {
    const { sink, delivery, time } = openDelivery();
    const late = answer();
    sink.next.write.push(() => late.promise);
    delivery.send(steps(1));
    await time.pass(60_000);
    late.fail(new Error("too slow"));
    await time.pass(200);
    expect(sink.held).toEqual([1]);
    expect(delivery.summary().failures).toBe(1);
  });
});

describe("a sink that refuses", () => {
  const refused = (): never => {
    throw new EspalierError("SINK_REFUSED", "no such value");
  };

  it("some records loses these and no others", async () => {
    const { sink, delivery, time, said } = openDelivery();
    const write = sink.write.bind(sink);
    sink.write = (records) => (records.some(({ step }) => step === 3) ? refused() : write(records));
    delivery.send(steps(1, 5));
    delivery.send(steps(6));
    await time.pass(0);
    expect(sink.held).toEqual([1, 2, 4, 5, 6]);
    expect(delivery.summary()).toMatchObject({ written: 5, lost: 1, waiting: 0 });
    expect(said).toEqual(['sink "test" loses values: it refuses them: no such value [SINK_REFUSED]']);
  });

  it("everything is not called again; what comes is kept for the next process", async () => {
    const spill = newFolder();
    const sink = new TestSink();
    sink.next.open.push(() => {
      throw new EspalierError("SINK_UNUSABLE", "wrong password");
    });
    const first = openDelivery({ spill }, sink);
    first.delivery.send(steps(1, 2));
    await first.time.pass(100_000);
    expect(sink.calls).toEqual(["open"]);
    expect(first.delivery.summary()).toMatchObject({ spilled: 2, waiting: 0 });
    await first.delivery.close(completed);
    expect(first.delivery.summary()).toMatchObject({ spilled: 2, waiting: 0, lost: 0 });

    const second = openDelivery({ spill });
    second.delivery.send(steps(3));
    await second.time.pass(0);
    expect(second.sink.held).toEqual([1, 2, 3]);
  });
});

describe("a sink that is slow", () => {
  it("holds training up where it is synchronous, which is said once", () => {
    const { sink, delivery, time, said } = openDelivery();
    for (let step = 1; step < 9; step++) {
      sink.next.write.push(() => time.clock.advance(step === 1 ? 50 : 51));
      delivery.send(steps(step));
      if (step < 4) expect(said).toEqual([]);
    }
    expect(said).toEqual(['sink "test" holds training up: 3 calls took over 50 ms, the last one 51 ms']);
  });
});

describe("messages", () => {
  it("wait for a sink that is busy, and are said before it is closed", async () => {
    const { sink, delivery, time } = openDelivery();
    const messages: string[] = [];
    Object.assign(sink, { message: (text: string) => void messages.push(text) });
    const first = answer();
    sink.next.write.push(() => first.promise);
    delivery.send(steps(1));
    delivery.message("halfway");
    expect(messages).toEqual([]);
    const closing = delivery.close(completed);
    first.give();
    await time.pass(0);
    await closing;
    expect(messages).toEqual(["halfway"]);
  });
});

describe("close", () => {
  it("does not wait for a path that the file system refuses, and keeps what is left", async () => {
    const spill = newFolder();
    const { sink, delivery, time, said } = openDelivery({ spill });
    const refuse = (): never => {
      const cause = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
      throw new EspalierError("SINK_UNWRITABLE", "the log file cannot be written", { cause });
    };
    sink.next.write.push(refuse, refuse);
    delivery.send(steps(1, 2));
    const before = time.clock.now();
    await delivery.close(completed);
    expect(time.clock.now()).toBe(before);
    expect(delivery.summary()).toMatchObject({ written: 0, lost: 0, spilled: 2, failures: 2 });
    expect(said.at(-1)).toContain("has not taken 2 values");
    expect(sink.calls.at(-1)).toBe("close");
  });

  it("waits for a failing sink at most ten seconds, and says what is lost", async () => {
    const { sink, delivery, time, said } = openDelivery();
    sink.down = true;
    delivery.send(steps(1, 3));
    let closed = false;
    const closing = delivery.close(completed).then(() => {
      closed = true;
    });
    await time.pass(9_999);
    expect(closed).toBe(false);
    await time.pass(1);
    await closing;
    expect(delivery.summary()).toMatchObject({ written: 0, waiting: 0, lost: 3 });
    expect(said.slice(1)).toEqual([
      'sink "test" loses values: there is no spill directory',
      'sink "test" is missing 3 values of 3',
    ]);
    expect(sink.calls.at(-1)).toBe("close");
    await time.pass(100_000);
    expect(sink.calls.filter((call) => call === "close")).toHaveLength(1);
  });

  it("gives a failing sink one more chance at once", async () => {
    const { sink, delivery, time } = openDelivery();
    sink.next.write.push(failing(), failing(), failing());
    delivery.send(steps(1));
    await time.pass(500);
    const closing = delivery.close(completed);
    await time.pass(0);
    await closing;
    expect(sink.held).toEqual([1]);
  });

  it("leaves a sink that hangs, and keeps what it may not have taken", async () => {
    const spill = newFolder();
    const { sink, delivery, time, said } = openDelivery({ spill });
    const late = answer();
    sink.next.write.push(() => late.promise);
    delivery.send(steps(1));
    delivery.send(steps(2));
    const closing = delivery.close(completed);
    await time.pass(10_000);
    await closing;
    expect(said.at(-1)).toMatch(
      /has not taken 2 values: they are in .*test\.a-run\.jsonl until the run is resumed/,
    );
    expect(delivery.summary()).toMatchObject({ spilled: 2, lost: 0 });

    // It took them after all: then the next process must not bring them again.
    late.give();
    await settle();
    expect(delivery.summary()).toMatchObject({ written: 1, spilled: 1 });
    const second = openDelivery({ spill });
    await second.time.pass(0);
    expect(second.sink.held).toEqual([2]);
  });

  it("counts what a sink took after all as taken, also where it was given up", async () => {
    const { sink, delivery, time } = openDelivery();
    const late = answer();
    sink.next.write.push(() => late.promise);
    delivery.send(steps(1, 3));
    const closing = delivery.close(completed);
    await time.pass(10_000);
    await closing;
    expect(delivery.summary()).toMatchObject({ written: 0, lost: 3 });
    late.give();
    await settle();
    expect(delivery.summary()).toMatchObject({ written: 3, lost: 0 });
    expect(sink.calls.at(-1)).toBe("close");
  });

  it("is the same the second time, and what comes afterwards is lost and counted", async () => {
    const { sink, delivery } = openDelivery();
    expect(delivery.close(completed)).toBe(delivery.close(completed));
    await delivery.close(completed);
    delivery.send(steps(1));
    delivery.message("late");
    expect(sink.calls).toEqual(["open", "close"]);
    expect(delivery.summary().lost).toBe(1);
  });

  it("of what was never opened does nothing", async () => {
    const { sink, delivery } = delivered();
    await delivery.close(completed);
    expect(sink.calls).toEqual([]);
  });
});
