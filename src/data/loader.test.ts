import { describe, expect, it } from "vitest";
import { RandomStreams } from "../random/index.ts";
import { Loader, shuffled } from "./loader.ts";

const loaderOf = (more: object = {}) =>
  new Loader({ length: 10, batchSize: 4, key: new RandomStreams(1).get("data").key(), ...more });

describe("a loader", () => {
  it("has full batches and keeps or drops the rest", () => {
    expect(loaderOf().groups).toEqual([
      { size: 4, count: 2, from: 0 },
      { size: 2, count: 1, from: 8 },
    ]);
    expect(loaderOf({ lastBatch: "drop" }).groups).toEqual([{ size: 4, count: 2, from: 0 }]);
    expect(loaderOf({ batchSize: 64 }).groups).toEqual([{ size: 10, count: 1, from: 0 }]);
    expect(loaderOf({ length: 0 }).groups).toEqual([]);
  });

  it("gives the rows of one batch after the other, and resumes with the same next batch", async () => {
    const loader = loaderOf();
    const rows = Array.from({ length: 6 }, () => [...loader.next()]);
    expect(rows.map((each) => each.length)).toEqual([4, 4, 2, 4, 4, 2]);
    expect(rows.slice(0, 3).flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const [first, second] = [loaderOf(), loaderOf({ key: new RandomStreams(2).get("data").key() })];
    first.next();
    second.setState(first.getState());
    expect(Array.from({ length: 5 }, () => [...second.next()])).toEqual(rows.slice(1));
    expect([...loaderOf({ length: 0 }).next()]).toEqual([]);
  });

  it("orders every epoch anew, each row once, drawn ahead or not", () => {
    const [loader, ahead] = [loaderOf(), loaderOf()];
    const orders = Array.from({ length: 5 }, () => {
      const order = [...loader.order];
      loader.advance(10);
      return order.join();
    });
    for (const order of orders)
      expect(
        order
          .split(",")
          .map(Number)
          .sort((a, b) => a - b),
      ).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(orders).size).toBe(5);
    for (const order of orders) {
      expect(ahead.order.join()).toBe(order);
      ahead.prepareNext();
      ahead.advance(10);
    }
  });

  it("puts every row everywhere about as often", () => {
    const loader = loaderOf({ length: 4, batchSize: 4 });
    const counts = new Map<string, number>();
    for (let i = 0; i < 4800; i++) {
      const order = loader.order.join("");
      counts.set(order, (counts.get(order) ?? 0) + 1);
      loader.advance(4);
    }
    expect(counts.size).toBe(24);
    // 200 each is expected; five standard deviations are 70.
    for (const count of counts.values()) expect(Math.abs(count - 200)).toBeLessThan(70);
  });

  it("goes on from a saved state in the middle of an epoch", () => {
    const loader = loaderOf();
    loader.advance(10);
    loader.advance(4);
    const resumed = loaderOf({ key: Uint32Array.of(9, 9) });
    resumed.setState(loader.getState());
    expect([resumed.epoch, resumed.position, resumed.order.join()]).toEqual([1, 4, loader.order.join()]);
  });

  it("keeps the order as it is where it does not shuffle", () => {
    const loader = loaderOf({ shuffle: false });
    const first = loader.order;
    loader.advance(10);
    expect(loader.order).toBe(first);
    expect([...first]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

describe("an order", () => {
  it("holds every number once", () => {
    for (const n of [0, 1, 2, 7, 1000])
      expect([...shuffled(Uint32Array.of(5, 9), n)].sort((a, b) => a - b)).toEqual(
        Array.from({ length: n }, (_, i) => i),
      );
  });

  it("follows from the key alone, and another bit gives another order", () => {
    const one = shuffled(Uint32Array.of(1, 2), 100);
    expect(shuffled(Uint32Array.of(1, 2), 100)).toEqual(one);
    for (const key of [Uint32Array.of(0, 2), Uint32Array.of(1, 3), Uint32Array.of(2, 1)]) {
      const same = [...shuffled(key, 100)].filter((row, i) => row === one[i]).length;
      expect(same).toBeLessThan(10);
    }
  });

  it("has every permutation of a few equally often", () => {
    const counts = new Map<string, number>();
    const draws = 24_000;
    for (let i = 0; i < draws; i++) {
      const text = shuffled(Uint32Array.of(i, 77), 4).join();
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    expect(counts.size).toBe(24);
    const expected = draws / 24;
    const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    expect(chiSquare).toBeLessThan(49.7); // 23 degrees of freedom, once in a thousand
  });

  it("puts every example at every place", () => {
    const sums = new Float64Array(50);
    for (let i = 0; i < 2000; i++)
      shuffled(Uint32Array.of(3, i), 50).forEach((row, place) => {
        sums[row] = (sums[row] as number) + place;
      });
    for (const sum of sums) expect(Math.abs(sum / 2000 - 24.5)).toBeLessThan(1.6); // five deviations of the mean
  });
});
