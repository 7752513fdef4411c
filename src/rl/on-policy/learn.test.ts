import { describe, expect, it } from "vitest";
import { compile, hostRandom, np, put, read, type Value } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { Columns } from "./layout.ts";
import { type ShuffleOptions, shuffleBy } from "./learn.ts";
import type { RolloutSizes } from "./options.ts";
import { toSegments, toTime } from "./rollout.ts";

const sizes = (steps: number, rows: number, segment: number, minibatches = 1): RolloutSizes => {
  const segments = (steps / segment) * rows;
  return { steps, rows, segment, segments, batch: segments / minibatches, minibatches };
};
const learned = new Columns({ id: [], advantage: [], importance: [] });
const layout = { learned };

describe.each(testEngines())("experience on %s", (engine) => {
  it.each([
    [6, 2, 1],
    [6, 2, 3],
    [4, 3, 4],
    [4, 1, 2],
  ])("of %d steps of %d rows goes into segments of %d and back", async (steps, rows, segment) => {
    const size = sizes(steps, rows, segment);
    const both = compile(
      () => {
        const x = np.reshape(np.arange(steps * rows * 2), [steps, rows, 2]);
        const cut = toSegments(x, size);
        return { x, cut, back: toTime(cut, size) };
      },
      { engine },
    );
    const { x, cut, back } = both();
    expect(cut.shape).toEqual([size.segments, segment, 2]);
    expect(await back.read()).toEqual(await x.read());
    const [flat, whole] = [await cut.read(), await x.read()];
    for (let s = 0; s < size.segments; s++)
      for (let i = 0; i < segment; i++) {
        // The first steps of all rows, then those after them.
        const [row, t] = [s % rows, Math.floor(s / rows) * segment + i];
        expect(flat[(s * segment + i) * 2]).toBe(whole[(t * rows + row) * 2]);
      }
  });

  const orderIn = (spec: Omit<ShuffleOptions, "layout">, advantage: readonly number[]) => {
    const { segments, segment } = spec.sizes;
    const shuffle = shuffleBy({ ...spec, layout });
    const program = compile(
      (key: Value, epoch: Value) => {
        const id = np.reshape(np.arange(segments * segment), [segments, segment]);
        const own = np.reshape(np.repeat(np.array(advantage), segment), [segments, segment]);
        const table = learned.pack({ id, advantage: own, importance: np.zerosLike(id) });
        const memory = { h: np.reshape(np.arange(segments), [segments, 1]) };
        const at = { key, rollout: np.zeros([], { dtype: "i32" }), epoch, ramps: {} };
        const picked = shuffle({ table, memory }, at);
        return { ...learned.fields(picked.table), ...picked.memory };
      },
      { engine },
    );
    return async (seed: number, epoch: number) =>
      read(program(hostRandom.hostKey(seed), put(epoch, { engine, dtype: "i32" }))) as unknown as Promise<
        Record<string, Float32Array>
      >;
  };

  it("comes in another order in each epoch, every segment once and with its memory", async () => {
    const pick = orderIn({ sizes: sizes(6, 4, 2, 3), priority: undefined }, new Array(12).fill(1));
    const orders = await Promise.all([pick(1, 0), pick(1, 1), pick(2, 0), pick(1, 0)]);
    const segmentsIn = ({ id = new Float32Array() }: Record<string, Float32Array>) =>
      [...id].filter((_, i) => i % 2 === 0).map((x) => x / 2);
    for (const found of orders) {
      expect([...segmentsIn(found)].sort((a, b) => a - b)).toEqual([...Array(12).keys()]);
      expect([...(found.h ?? [])]).toEqual(segmentsIn(found));
      expect(
        [...(found.id ?? [])].every((x, i, all) => i % 2 === 0 || x === (all[i - 1] as number) + 1),
      ).toBe(true);
    }
    expect(segmentsIn(orders[1] as never)).not.toEqual(segmentsIn(orders[0] as never));
    expect(segmentsIn(orders[2] as never)).not.toEqual(segmentsIn(orders[0] as never));
    expect(segmentsIn(orders[3] as never)).toEqual(segmentsIn(orders[0] as never));
  });

  it("comes more often where there is more to learn, which importance makes up for", async () => {
    const advantage = Array.from({ length: 8 }, (_, i) => (i === 5 ? -40 : 0.5));
    const pick = orderIn({ sizes: sizes(4, 4, 2), priority: { alpha: 1, beta: 1 } }, advantage);
    const { id = [], importance = [] } = await pick(3, 0);
    const drawn = [...id].filter((_, i) => i % 2 === 0).map((x) => x / 2);
    expect(drawn.filter((segment) => segment === 5).length).toBeGreaterThan(4);
    // (S p)^-1 with p = 80 / 87 and 1 / 87: each segment's rows have their own.
    drawn.forEach((segment, i) => {
      const expected = 1 / (8 * (segment === 5 ? 80 / 87 : 1 / 87));
      expect(importance[2 * i]).toBeCloseTo(expected, 4);
      expect(importance[2 * i + 1]).toBe(importance[2 * i]);
    });
  });
});
