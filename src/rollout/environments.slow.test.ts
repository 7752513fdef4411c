import { describe, expect, it } from "vitest";
import { game, rollouts } from "../../examples/setups/cart-pole-worker.ts";
import { playEpisodes } from "../rl/index.ts";
import { linear, never } from "../schedule/index.ts";
import { Trainer } from "../trainer/index.ts";
import { policyTask } from "./environments.ts";
import { workerProcesses } from "./processes.ts";

const module = new URL("../../examples/setups/cart-pole-worker.ts", import.meta.url).href;
const epochs = 100;

/** The mean return of 20 episodes after 25,600 frames. */
async function train(source: Pick<Parameters<typeof policyTask>[0], "generator" | "transport">) {
  const learningRate = linear({ from: 1e-3, to: 0, over: { epochs } });
  const task = policyTask({ ...game, ...source, learningRate, worker: { defaultHooks: false } });
  try {
    await new Trainer({ task, config: { epochs, seed: 1, validate: never() } }).train();
    const played = await playEpisodes({
      player: task.player,
      state: (await task.snapshot(task.player.reads)).components,
      ...{ env: game.env, episodes: 20, seed: 1234 },
    });
    return { counts: task.counts, mean: played.reduce((sum, one) => sum + one.return, 0) / played.length };
  } finally {
    await task.close();
  }
}

describe("policyTask", { timeout: 300_000 }, () => {
  it("learns to balance a pole from two worker processes as from rollouts of its own", async () => {
    const alone = await train({ generator: rollouts() });
    const transport = workerProcesses({ module, options: { seed: 1 }, count: 2, capacity: 1 });
    const together = await train({ transport });
    // A policy that acts at random has 22.
    expect(alone.mean).toBeGreaterThan(60);
    expect(together.mean).toBeGreaterThan(60);
    for (const { counts } of [alone, together])
      expect(counts).toMatchObject({ rollouts: epochs, units: 8 * epochs, future: 0, duplicates: 0 });
    expect(transport.stats.replaced).toBe(0);
    expect(transport.pids).toEqual([]);
  });
});
