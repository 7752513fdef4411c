import { describe, expect, it } from "vitest";
import { put, read, type Tensor } from "../engine/index.ts";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import * as nn from "../nn/index.ts";
import * as optim from "../optim/index.ts";
import { firstDifference } from "../state/index.ts";
import { drive, examples } from "./drive.test-support.ts";
import { supervisedTask } from "./task.ts";

describe.each(sweepEngines())("batch norm in training on %s", (engine) => {
  const data = examples([24, 3], [24, 2]);
  const make = (more: object = {}) =>
    supervisedTask({
      model: nn.sequential({ in: nn.dense(4), norm: nn.batchNorm({ momentum: 0.3 }), out: nn.dense(2) }),
      optimizer: optim.adamw({ learningRate: 0.01, weightDecay: 0.5 }),
      data,
      validation: data,
      loss: nn.mse,
      batchSize: 8,
      shuffle: false,
      seed: 2,
      engine,
      ...more,
    });
  const momentsOf = async (task: { readonly params: nn.Params<Tensor> }) => {
    const { mean, variance } = task.params.norm as Readonly<Record<"mean" | "variance", Tensor>>;
    return [...(await mean.read()), ...(await variance.read())];
  };

  it("gives the same bits one by one and fused, and after a resume", async () => {
    const tasks = [
      make(),
      make(),
      make({ accumulate: 3, batchSize: 2 }),
      make({ accumulate: 3, batchSize: 2 }),
    ];
    const runs = await Promise.all(
      tasks.map((task, i) => drive(task, { epochs: 3, ...(i % 2 && { atMost: 1 }) })),
    );
    for (const [a, b] of [
      [runs[0], runs[1]],
      [runs[2], runs[3]],
    ] as const)
      expect(await firstDifference((await a?.states()) ?? null, (await b?.states()) ?? null)).toBeUndefined();
    const first = make();
    const half = await drive(first, { epochs: 3, stopAfter: 4 });
    const frozen = await first.snapshot();
    const again = make({ seed: 9 });
    for (const [name, state] of Object.entries(frozen.components))
      await again.components[name]?.setState(state);
    const rest = await drive(again, { epochs: 3, from: half.at });
    expect(await firstDifference(await rest.states(), (await runs[0]?.states()) ?? null)).toBeUndefined();
  });

  it("moves its moments batch by batch as PyTorch does, micro-batches too", async () => {
    const still = { optimizer: optim.sgd({ learningRate: 0 }) };
    const task = make(still);
    const inputs = task.params;
    await drive(task, { epochs: 1 });
    const small = make({ ...still, batchSize: 2, accumulate: 4 });
    await drive(small, { epochs: 1 });
    const known = async (size: number) => {
      const { w, b } = await read(inputs.in as Readonly<Record<"w" | "b", Tensor>>);
      const moments = [new Array(4).fill(0), new Array(4).fill(1)] as [number[], number[]];
      for (let from = 0; from < 24; from += size)
        for (let c = 0; c < 4; c++) {
          const rows = Array.from({ length: size }, (_, r) =>
            [0, 1, 2].reduce(
              (sum, k) => sum + (data.x.data[(from + r) * 3 + k] as number) * (w[k * 4 + c] as number),
              b[c] as number,
            ),
          );
          const mean = rows.reduce((a, v) => a + v, 0) / size;
          const variance = rows.reduce((a, v) => a + (v - mean) ** 2, 0) / (size - 1);
          moments[0][c] = 0.7 * (moments[0][c] as number) + 0.3 * mean;
          moments[1][c] = 0.7 * (moments[1][c] as number) + 0.3 * variance;
        }
      return moments.flat();
    };
    expect(await momentsOf(task)).toEqual((await known(8)).map((value) => expect.closeTo(value, 5)));
    expect(await momentsOf(small)).toEqual((await known(2)).map((value) => expect.closeTo(value, 5)));
  });

  if (engine === "wasm")
    it("evaluates and predicts by the running moments, and keeps them in updates that are left out", async () => {
      const task = make();
      await drive(task, { epochs: 2 });
      const one = await task.predict({ data: data.x.data.slice(0, 3), shape: [1, 3] }).read();
      const all = await task.predict(data.x).read();
      expect([...one]).toEqual([expect.closeTo(all[0] as number, 5), expect.closeTo(all[1] as number, 5)]);

      const y = { data: data.y.data.map(() => Number.NaN), shape: data.y.shape };
      const broken = make({
        data: { x: data.x, y: put(y.data, { shape: y.shape, engine }) },
        validation: undefined,
        optimizer: optim.skipNonFinite(optim.adam()),
      });
      const before = await momentsOf(broken);
      await drive(broken, { epochs: 1 });
      expect(await momentsOf(broken)).toEqual(before);
    });
});
