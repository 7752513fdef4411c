import { createLoader, type ExampleArray } from "../../src/data/index.ts";
import { numbers } from "../engine/data.ts";
import type { TimedFigure } from "../harness/figure.ts";

const set = { rows: 1_000_000, width: 16, batch: 64 };

/** Batches of rows in memory, each epoch in a new order. */
export const loaderInMemory: TimedFigure = {
  kind: "timed",
  name: "a batch of 64 from 1,000,000 rows of 16 numbers in memory, shuffled",
  engine: "host",
  unit: "us",
  ours: async () => {
    const { rows, width, batch } = set;
    const x = { data: numbers(0, rows * width), shape: [rows, width] };
    const y = Int32Array.from({ length: rows }, (_, i) => i % 10);
    const shuffled = createLoader({ x, y }, { batchSize: batch });
    let sum = 0;
    for (const each of await createLoader({ x, y }, { batchSize: batch, shuffle: false }).peek(100))
      for (const number of (each.x as ExampleArray).data) sum += number;
    return {
      check: sum,
      run: async (steps) => {
        const start = performance.now();
        for (let done = 0; done < steps; ) for await (const _ of shuffled) if (++done === steps) break;
        return (performance.now() - start) / 1000;
      },
      dispose: () => shuffled.close(),
    };
  },
  peers: { torch: { script: "torch_loading.py", case: "memory", params: set } },
  bars: [{ kind: "ratio", against: "torch", atMost: 1 / 20 }],
};
