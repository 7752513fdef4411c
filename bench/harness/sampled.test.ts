import { describe, expect, it } from "vitest";
import type { SampledFigure } from "./figure.ts";
import type { Peers } from "./peers.ts";
import { runFigure } from "./run.ts";

const figure: SampledFigure = {
  kind: "sampled",
  name: "return",
  engine: "xla",
  unit: "return",
  samples: 4,
  ours: async () => ({ sample: async (seed) => 10 * seed }),
  peers: { torchPpo: { script: "rl_torch.py", case: "learning", params: {} } },
  bars: [],
};
const giving = (sample: (seed: number) => Promise<number>) =>
  ({ setUp: async () => ({ sample }) }) as unknown as Peers;
const options = { quick: false, rounds: 2, batchSeconds: 0.1 };

describe("runFigure of samples", () => {
  it("takes ours and the peers' for each seed from 1", async () => {
    const result = await runFigure(figure, { ...options, peers: giving(async (seed) => seed) });
    expect(result.ours).toEqual([10, 20, 30, 40]);
    expect(result.peers.torchPpo).toEqual([1, 2, 3, 4]);
    expect(result.statistic).toBe("mean");
  });

  it("takes fewer when it is to be quick", async () => {
    expect((await runFigure(figure, { ...options, quick: true })).ours).toEqual([10, 20, 30]);
  });

  it("shows nothing of a peer that failed at one seed, and goes on with ours", async () => {
    const asked: number[] = [];
    const peers = giving(async (seed) => {
      asked.push(seed);
      if (seed === 2) throw new Error("no memory");
      return seed;
    });
    const result = await runFigure(figure, { ...options, peers });
    expect(result.ours).toHaveLength(4);
    expect(result.peers).toEqual({});
    expect(result.problems.torchPpo).toBe("no memory");
    expect(asked).toEqual([1, 2]);
  });
});
