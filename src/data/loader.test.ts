import { describe, expect, it } from "vitest";
import { RandomStreams } from "../random/index.ts";
import { Loader } from "./loader.ts";

const loaderOf = (more: object = {}) =>
  new Loader({ length: 10, batchSize: 4, key: new RandomStreams(1).get("data").key(), ...more });

describe("a loader", () => {
  it("has full batches and keeps or drops the rest", () => {
    expect(loaderOf().runs).toEqual([
      { size: 4, count: 2, from: 0 },
      { size: 2, count: 1, from: 8 },
    ]);
    expect(loaderOf({ lastBatch: "drop" }).runs).toEqual([{ size: 4, count: 2, from: 0 }]);
    expect(loaderOf({ batchSize: 64 }).runs).toEqual([{ size: 10, count: 1, from: 0 }]);
    expect(loaderOf({ length: 0 }).runs).toEqual([]);
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
