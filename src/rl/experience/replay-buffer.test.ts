import { describe, expect, it } from "vitest";
import { hostRandom, read } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import type { Field } from "../../losses/index.ts";
import { firstDifference } from "../../state/index.ts";
import { replayBuffer } from "./replay-buffer.ts";

const fields: Readonly<Record<string, Field>> = {
  place: { shape: [2], dtype: "f32" },
  choice: { shape: [], dtype: "i32" },
  flag: { shape: [1], dtype: "u8" },
};
const row = (i: number) => ({ place: [i, i + 0.5], choice: [-i], flag: [i % 2] });
const key = (i: number) => hostRandom.hostKey(i);

describe.each(testEngines())("a replay buffer on %s", (engine) => {
  const made = (capacity = 5, minimum = 2) => replayBuffer({ capacity, minimum, fields, engine });

  it("keeps the newest rows and draws whole ones, each alike", async () => {
    const buffer = made(5);
    for (let i = 0; i < 8; i++) buffer.add(row(i));
    expect(buffer.size).toBe(5);
    const batch = buffer.sample({ count: 5000, key: key(1) });
    expect([batch.place?.shape, batch.choice?.shape, batch.flag?.shape]).toEqual([
      [5000, 2],
      [5000],
      [5000, 1],
    ]);
    expect([batch.place?.dtype, batch.choice?.dtype, batch.flag?.dtype]).toEqual(["f32", "i32", "u8"]);
    const { place, choice, flag } = await read(batch);
    const times = new Map<number, number>();
    for (let k = 0; k < 5000; k++) {
      const i = -(choice?.[k] as number);
      expect([place?.[2 * k], place?.[2 * k + 1], flag?.[k]]).toEqual([i, i + 0.5, i % 2]);
      times.set(i, (times.get(i) ?? 0) + 1);
    }
    expect([...times.keys()].sort()).toEqual([3, 4, 5, 6, 7]);
    for (const n of times.values()) expect(Math.abs(n - 1000)).toBeLessThan(120);
  });

  it("draws by its key alone, also after others were drawn", async () => {
    const buffer = made(50);
    for (let i = 0; i < 30; i++) buffer.add(row(i));
    const draw = async (k: number, count: number) => read(buffer.sample({ count, key: key(k) }));
    const first = await draw(1, 8);
    const wide = await draw(2, 64);
    expect(await draw(1, 8)).toEqual(first);
    expect(await draw(2, 64)).toEqual(wide);
    expect(await draw(3, 8)).not.toEqual(first);
  });

  it("stacks batches by their keys, with room for more", async () => {
    const buffer = made(50);
    for (let i = 0; i < 30; i++) buffer.add(row(i));
    const batches = await Promise.all([1, 2].map((k) => read(buffer.sample({ count: 4, key: key(k) }))));
    const stacked = buffer.sample({ count: 4, key: [key(1), key(2)], room: 3 });
    expect([stacked.place?.shape, stacked.choice?.shape]).toEqual([
      [3, 4, 2],
      [3, 4],
    ]);
    const { choice } = await read(stacked);
    expect([...(choice as Int32Array).subarray(0, 8)]).toEqual(
      batches.flatMap((b) => [...(b.choice as Int32Array)]),
    );
  });

  it("takes several rows at once, and single rows out of many", async () => {
    const [a, b] = [made(), made()];
    const three = { place: [0, 0.5, 1, 1.5, 2, 2.5], choice: [-0, -1, -2], flag: [0, 1, 0] };
    a.add(three);
    for (const i of [0, 1, 2]) b.addFrom(three, i);
    expect(await firstDifference(await a.getState(), await b.getState())).toBeUndefined();
    expect(a.size).toBe(3);
  });

  it("is ready from its minimum on, and empty when cleared", () => {
    const buffer = made();
    buffer.add(row(0));
    expect(buffer.ready).toBe(false);
    expect(() => buffer.sample({ count: 1, key: key(0) })).toThrow(
      expect.objectContaining({ code: "BUFFER_NOT_READY" }),
    );
    buffer.add(row(1));
    expect(buffer.ready).toBe(true);
    buffer.clear();
    expect([buffer.size, buffer.ready]).toEqual([0, false]);
  });

  it("goes on exactly, before and after the ring is full", async () => {
    for (const before of [3, 5, 8]) {
      const [whole, half] = [made(), made()];
      for (let i = 0; i < before; i++) for (const buffer of [whole, half]) buffer.add(row(i));
      const state = half.getState();
      half.add(row(99)); // What was frozen stays as it was.
      const resumed = made();
      resumed.add(row(7));
      resumed.setState(await state);
      for (let i = before; i < before + 4; i++) for (const buffer of [whole, resumed]) buffer.add(row(i));
      expect(await firstDifference(await whole.getState(), await resumed.getState())).toBeUndefined();
      const of = async (buffer: typeof whole) => read(buffer.sample({ count: 16, key: key(4) }));
      expect(await of(resumed)).toEqual(await of(whole));
    }
  });

  it("refuses what does not fit", async () => {
    const buffer = made();
    expect(() => buffer.add({ ...row(0), place: [1] })).toThrow(/"place" has 1 numbers, and 2 are wanted/);
    expect(() => buffer.add({ place: [1, 2], choise: [1], flag: [1] })).toThrow(
      /"choice" is missing; did you mean "choise"/,
    );
    expect(buffer.size).toBe(0);
    buffer.add(row(0));
    expect(() => made(4).setState({ size: 5, next: 0, fields: {} })).toThrow(/ring of 4 rows/);
    const other = replayBuffer({ capacity: 5, fields: { place: { shape: [3], dtype: "f32" } }, engine });
    expect(() => other.setState(buffer.getState() as never)).toThrow(/"place" does not fit/);
    expect(() => replayBuffer({ capacity: 5, minimum: 6, fields, engine })).toThrow(/only 5 are kept/);
    expect(() => replayBuffer({ capacity: 5, fields: {}, engine })).toThrow(/no fields/);
  });
});
