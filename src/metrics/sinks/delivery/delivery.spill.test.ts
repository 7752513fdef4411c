import fs, { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { completed, metricRecord, runInfo } from "../../../testing/sinks/records.ts";
import { delivered, failing, newFolder, openDelivery, steps, TestSink } from "./delivery.test-support.ts";
import { SpillFile } from "./queue.ts";

const fileIn = (spill: string, sink = "test"): string => join(spill, `${sink}.a-run.jsonl`);
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

function broken(): TestSink {
  const sink = new TestSink();
  sink.down = true;
  return sink;
}

describe("what a sink does not take", () => {
  it("goes to disk beyond the bound, and comes back in order", async () => {
    const spill = newFolder();
    const { sink, delivery, time } = openDelivery({ spill, limits: { records: 10, batch: 7 } }, broken());
    for (const step of range(1, 10)) delivery.send(steps(step));
    // The first is with the sink, not among those that wait.
    expect(existsSync(fileIn(spill))).toBe(false);
    for (const step of range(11, 100)) delivery.send(steps(step));
    expect(delivery.summary()).toMatchObject({ waiting: 0, spilled: 100, lost: 0, written: 0 });
    sink.down = false;
    await time.pass(100);
    expect(sink.held).toEqual(range(1, 100));
    expect(delivery.summary()).toMatchObject({ spilled: 0, written: 100 });
    expect(existsSync(fileIn(spill))).toBe(false);
    delivery.send(steps(101));
    expect(sink.held.at(-1)).toBe(101);
  });

  it("goes to disk after some failures in a row, because the process may die", async () => {
    const spill = newFolder();
    const { delivery, time } = openDelivery({ spill }, broken());
    delivery.send(steps(1, 2));
    await time.pass(299);
    expect(delivery.summary()).toMatchObject({ waiting: 2, spilled: 0 });
    await time.pass(1);
    expect(delivery.summary()).toMatchObject({ waiting: 0, spilled: 2 });
    delivery.send(steps(3));
    expect(delivery.summary()).toMatchObject({ waiting: 0, spilled: 3 });
    expect(readFileSync(fileIn(spill), "utf8").trimEnd().split("\n")).toHaveLength(4);
  });

  it("is spilled where the sink hangs", async () => {
    const spill = newFolder();
    const sink = new TestSink();
    sink.next.write.push(() => new Promise(() => undefined));
    const { delivery, time } = openDelivery({ spill }, sink);
    delivery.send(steps(1, 2));
    await time.pass(30_000);
    expect(delivery.summary()).toMatchObject({ waiting: 0, spilled: 2 });
  });

  it("stays in order while more is spilled than is taken, and across a second failure", async () => {
    const spill = newFolder();
    const { sink, delivery, time } = openDelivery({ spill, limits: { records: 5, batch: 3 } }, broken());
    delivery.send(steps(1, 20));
    for (let step = 21; step < 60; step++) {
      sink.down = step % 3 !== 0;
      delivery.send(steps(step));
      await time.pass(7);
    }
    sink.down = false;
    await time.pass(60_000);
    expect(sink.held).toEqual(range(1, 59));
  });

  it("is left by close for the next process of the run, and for no other run", async () => {
    const spill = newFolder();
    const first = openDelivery({ spill }, broken());
    first.delivery.send(steps(1, 3));
    const closing = first.delivery.close(completed);
    await first.time.pass(10_000);
    await closing;
    expect(first.said.at(-1)).toBe(
      `sink "test" has not taken 3 values (down): they are in ${fileIn(spill)} until the run is resumed`,
    );

    const other = delivered({ spill });
    other.delivery.open(runInfo("other-run"));
    await other.time.pass(0);
    expect(other.sink.held).toEqual([]);

    const second = openDelivery({ spill });
    second.delivery.send(steps(4));
    await second.time.pass(0);
    expect(second.sink.held).toEqual([1, 2, 3, 4]);
    expect(existsSync(fileIn(spill))).toBe(false);
  });

  it("comes once, also where a process dies in the middle of bringing it", async () => {
    const spill = newFolder();
    const first = openDelivery({ spill, limits: { records: 1, batch: 4 } }, broken());
    first.delivery.send(steps(1, 2));
    first.delivery.send(steps(3, 20));
    // Two processes that die: nobody closes them.
    const second = openDelivery({ spill, limits: { batch: 4 } });
    second.delivery.send(steps(21));
    expect(second.sink.held).toEqual([1, 2, 3, 4]);
    const third = openDelivery({ spill });
    await third.time.pass(0);
    expect(third.sink.held).toEqual(range(5, 21));
  });

  it("does not come where the resumed run files it anew", async () => {
    const spill = newFolder();
    const first = openDelivery({ spill, limits: { records: 1 } }, broken());
    first.delivery.send([
      ...steps(1, 6),
      metricRecord({ step: 1, value: 1, axis: "epochs" }),
      metricRecord({ step: 7, value: 7, axis: "unheard-of" }),
    ]);
    first.delivery.send(steps(8, 9));
    const second = delivered({ spill });
    second.delivery.open(runInfo("a-run", 4));
    second.delivery.send(steps(5, 6));
    await second.time.pass(0);
    expect(second.sink.held).toEqual([1, 2, 3, 4, 7, 5, 6]);
    expect(second.delivery.summary()).toMatchObject({ lost: 0, spilled: 0 });
  });

  it("keeps every number as it is", async () => {
    const spill = newFolder();
    const odd = [Number.NaN, Infinity, -Infinity, -0, 0, 5e-324, 0.1, 2 ** 53, 1e308];
    const histogram = {
      edges: [-Infinity, -0, Infinity],
      counts: [1, 2],
      min: -0,
      max: Number.NaN,
      sum: 1,
      sumSquares: 2,
      count: 3,
    };
    const records = [
      ...odd.map((value, step) => metricRecord({ step, value, unit: step % 2 ? "m" : undefined })),
      metricRecord({ step: -0, value: 'text with {"$number":"NaN"} and \n' }),
      metricRecord({ step: 1, value: histogram, reduction: "histogram" }),
    ];
    const first = openDelivery({ spill, limits: { records: 1 } }, broken());
    first.delivery.send(steps(1));
    first.delivery.send(records);
    const second = openDelivery({ spill });
    const got: unknown[] = [];
    second.sink.write = (all) => void got.push(...all);
    await second.time.pass(0);
    expect(got.slice(1)).toStrictEqual(records);
  });

  it("is read up to what a crash left of a line", async () => {
    const spill = newFolder();
    const first = openDelivery({ spill, limits: { records: 1 } }, broken());
    first.delivery.send(steps(1, 2));
    first.delivery.send(steps(3, 4));
    appendFileSync(fileIn(spill), '{"key":"train/loss","st');
    const second = openDelivery({ spill, limits: { records: 1 } }, broken());
    second.delivery.send(steps(5, 9));
    const third = openDelivery({ spill });
    await third.time.pass(0);
    expect(third.sink.held).toEqual(range(1, 9));
    expect(third.delivery.summary().lost).toBe(0);
  });

  it("is counted as lost where somebody spoilt the file, and the rest comes", async () => {
    const spill = newFolder();
    const first = openDelivery({ spill, limits: { records: 1 } }, broken());
    first.delivery.send(steps(1, 3));
    first.delivery.send(steps(4, 5));
    const lines = readFileSync(fileIn(spill), "utf8").split("\n");
    lines[2] = "null";
    writeFileSync(fileIn(spill), lines.join("\n"));
    const second = openDelivery({ spill });
    await second.time.pass(0);
    expect(second.sink.held).toEqual([1, 3, 4, 5]);
    expect(second.delivery.summary().lost).toBe(1);
  });

  it("of sinks with any name has a file inside the directory", async () => {
    const spill = newFolder();
    const sink = Object.assign(broken(), { name: "../a/ß:b" });
    const { delivery } = openDelivery({ spill, limits: { records: 1 } }, sink);
    delivery.send(steps(1));
    delivery.send(steps(2, 3));
    expect(existsSync(join(spill, "..%2Fa%2F%C3%9F%3Ab.a-run.jsonl"))).toBe(true);
  });
});

describe("a disk that refuses", () => {
  const full = (allowed: number): typeof fs => ({
    ...fs,
    writeSync: ((file: number, bytes: Uint8Array, from: number, length: number, position: number) => {
      const room = allowed - position;
      if (room <= 0)
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      return fs.writeSync(file, bytes, from, Math.min(length, room), position);
    }) as typeof fs.writeSync,
  });

  it("costs the oldest in memory, which are counted and said; what is on it stays in order", async () => {
    const spill = newFolder();
    const limits = { records: 10 };
    const { sink, delivery, time, said } = openDelivery({ spill, limits, files: full(4000) }, broken());
    for (const step of range(1, 100)) delivery.send(steps(step));
    const { spilled, waiting, lost } = delivery.summary();
    expect(spilled).toBeGreaterThan(10);
    expect(waiting).toBe(10);
    expect(spilled + waiting + lost).toBe(100);
    expect(said[1]).toBe(
      'sink "test" loses values: they cannot be put to disk either: ENOSPC: no space left on device, write',
    );
    sink.down = false;
    await time.pass(100);
    expect(sink.held).toEqual([...range(1, spilled), ...range(91, 100)]);
  });

  it("is asked again, and then takes what is in memory", async () => {
    const spill = newFolder();
    let room = 0;
    const files = {
      ...fs,
      writeSync: ((...args: Parameters<typeof fs.writeSync>) =>
        full(room).writeSync(...args)) as typeof fs.writeSync,
    };
    const { delivery, time } = openDelivery({ spill, limits: { records: 10 }, files }, broken());
    delivery.send(steps(1, 11));
    delivery.send(steps(12, 22));
    expect(delivery.summary()).toMatchObject({ spilled: 0, waiting: 21, lost: 1 });
    room = 1e9;
    time.clock.advance(5000);
    delivery.send(steps(23));
    expect(delivery.summary()).toMatchObject({ spilled: 22, waiting: 0, lost: 1 });
    const next = openDelivery({ spill });
    await next.time.pass(0);
    expect(next.sink.held).toEqual([...range(1, 11), ...range(13, 23)]);
  });

  it("is asked once more by close", async () => {
    const spill = newFolder();
    let room = 0;
    const files = {
      ...fs,
      writeSync: ((...args: Parameters<typeof fs.writeSync>) =>
        full(room).writeSync(...args)) as typeof fs.writeSync,
    };
    const limits = { records: 2, closing: 1 };
    const { delivery, time } = openDelivery({ spill, limits, files }, broken());
    delivery.send(steps(1));
    delivery.send(steps(2, 4));
    room = 1e9;
    const closing = delivery.close(completed);
    await time.pass(1000);
    await closing;
    expect(delivery.summary()).toMatchObject({ spilled: 3, waiting: 0, lost: 1 });
  });

  it("leaves nothing of what it did not take wholly", () => {
    const choice = { sink: "test", run: { id: "a-run" }, bytes: 1e9 };
    const path = join(newFolder(), "x.jsonl");
    const spilled = new SpillFile(path, { ...choice, files: full(1000) });
    spilled.append(steps(1));
    expect(() => spilled.append(steps(2, 9))).toThrow(/ENOSPC/);
    const next = new SpillFile(path, choice);
    expect(next.count).toBe(1);
    expect(next.first(9).records).toEqual(steps(1));
  });

  it("may be a directory that nobody can write to", async () => {
    const file = newFolder();
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, "a file, not a directory");
    const { delivery, said, time } = openDelivery(
      { spill: join(file, "spill"), limits: { records: 2 } },
      broken(),
    );
    delivery.send(steps(1));
    delivery.send(steps(2, 5));
    expect(delivery.summary()).toMatchObject({ waiting: 3, lost: 2 });
    const closing = delivery.close(completed);
    await time.pass(10_000);
    await closing;
    expect(delivery.summary()).toMatchObject({ waiting: 0, spilled: 0, lost: 5 });
    expect(said.slice(1).join()).toMatch(
      /loses values: they cannot be put to disk either: ENOTDIR.*missing 5 values of 5/,
    );
  });

  it("may hold the file of somebody else, which is left alone", () => {
    const spill = newFolder();
    mkdirSync(spill, { recursive: true });
    writeFileSync(fileIn(spill), "x".repeat(1000));
    const { sink, delivery, said } = openDelivery({ spill });
    delivery.send(steps(1));
    expect(sink.held).toEqual([1]);
    expect(said).toEqual([expect.stringContaining("holds no values of run a-run")]);
    expect(readFileSync(fileIn(spill), "utf8")).toBe("x".repeat(1000));
  });

  it("that fails to give records back is asked again", async () => {
    const spill = newFolder();
    let reads = 0;
    const files = {
      ...fs,
      readSync: ((...args: Parameters<typeof fs.readSync>) => {
        if (++reads < 3) failing("EIO: i/o error, read")();
        return fs.readSync(...args);
      }) as typeof fs.readSync,
    };
    const { sink, delivery, time } = openDelivery({ spill, limits: { records: 1 }, files }, broken());
    delivery.send(steps(1));
    delivery.send(steps(2, 5));
    sink.down = false;
    await time.pass(10_000);
    expect(sink.held).toEqual([1, 2, 3, 4, 5]);
  });
});

describe("a sink that never works", () => {
  const record = steps(1);
  it.each(["memory", "disk"])("takes bounded room in %s, a million records or not", async (place) => {
    const spill = place === "disk" ? newFolder() : undefined;
    const limits = { records: 1000, spillBytes: 1 << 20 };
    const { delivery, sink } = openDelivery({ spill, limits }, broken());
    for (let i = 0; i < 1_000_000; i++) delivery.send(record);
    const { waiting, spilled, lost, written } = delivery.summary();
    expect(waiting).toBeLessThanOrEqual(1001);
    expect(waiting + spilled + lost).toBe(1_000_000);
    expect(written).toBe(0);
    expect(sink.calls.length).toBeLessThan(10);
    if (spill) {
      expect(spilled).toBeGreaterThan(1000);
      expect(fs.statSync(fileIn(spill)).size).toBeLessThanOrEqual(1 << 20);
    }
  });
});
