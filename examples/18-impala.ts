// Ordinary reinforcement learning by worker processes, as in IMPALA: two processes play with weights that are some
// updates old, and V-trace corrects for that. New ideas: `environmentRollouts`, which plays an environment for a worker,
// `policyTask`, which learns from what comes, and `workerProcesses`.
import assert from "node:assert/strict";
import { linear, never, Trainer } from "espalier";
import { entropyLoss, playEpisodes, policyLoss, valueLoss } from "espalier/rl";
import { policyTask, workerProcesses } from "espalier/rollout";
import { game, rollouts } from "./setups/cart-pole-worker.ts";

// What two processes make comes in another order each time, so their runs differ: most reach 500.
const PROMISED = 400;
const [epochs, frames] = [400, 8 * 32];

/** Trains on 102,400 frames, and plays 20 episodes that training has not seen. */
async function train(
  name: string,
  source: Pick<Parameters<typeof policyTask>[0], "generator" | "transport">,
) {
  const over = { epochs };
  const task = policyTask({
    ...game,
    ...source,
    losses: [policyLoss({ clip: linear({ from: 0.2, to: 0, over }) }), valueLoss(), entropyLoss()],
    learningRate: linear({ from: 2e-3, to: 0, over }),
    worker: { defaultHooks: false },
  });
  try {
    const config = { epochs, seed: 1, validate: never() };
    const { timings } = await new Trainer({ task, config }).train();
    const episodes = await playEpisodes({
      player: task.player,
      state: (await task.snapshot(task.player.reads)).components,
      ...{ env: game.env, episodes: 20, seed: 1234 },
    });
    const mean = episodes.reduce((sum, episode) => sum + episode.return, 0) / episodes.length;
    const { counts } = task;
    console.log(
      `${name}: mean return ${mean} after ${counts.rollouts * frames} frames in ${timings.seconds.toFixed(1)} s`,
      `(${counts.stale} rollouts were too old)`,
    );
    assert.equal(counts.rollouts, epochs);
    assert.ok(mean >= PROMISED, `${name} promises a mean return of ${PROMISED}`);
  } finally {
    await task.close();
  }
}

// Rollouts are made in this process, while training waits: the same bits each time.
await train("one process", { generator: rollouts() });

// The same by two processes, while training goes on. A short queue keeps what is learned from young.
const module = new URL("./setups/cart-pole-worker.ts", import.meta.url).href;
await train("two worker processes", {
  transport: workerProcesses({ module, options: { seed: 1 }, count: 2, capacity: 1 }),
});
