import { natsTransport } from "../../src/cluster/index.ts";
import { policyTask } from "../../src/doors/rollout.ts";
import { never, Trainer } from "../../src/index.ts";
import type { Figure } from "../harness/figure.ts";
import { clusterOfBench } from "./machines.ts";
import { frames, game } from "./slow-worker.ts";

/** Frames a second that PPO learns from, with so many workers, each on a machine of its own. */
async function rate(workers: number, epochs: number): Promise<number> {
  const cluster = await clusterOfBench(workers);
  const module = "bench/cluster/slow-worker.ts";
  const transport = natsTransport({ servers: cluster.url, token: cluster.token, run: "scaling", module });
  const task = policyTask({ ...game, transport, engine: "wasm", maxStaleness: 64 });
  for (let i = 0; i < workers; i++) cluster.start(i, "../../src/cli/main.ts", "worker", "--run", "scaling");
  let from = 0;
  let counted = 0;
  const trainer = new Trainer({
    task,
    config: { epochs: epochs * workers + 100_000, seed: 1, validate: never() },
    hooks: [
      {
        name: "rate",
        onEpochEnd: ({ stop }) => {
          // From when all have come.
          if (from === 0 && transport.stats.workers < workers) return;
          if (from === 0) from = performance.now();
          else if (++counted === epochs * workers) stop("measured");
        },
      },
    ],
  });
  try {
    await trainer.train();
    return (counted * frames) / ((performance.now() - from) / 1000);
  } finally {
    await task.close();
    await cluster.stop();
  }
}

/** How the frames of PPO grow with workers whose environments cost time. */
export const scalingFigures: readonly Figure[] = [
  {
    kind: "counted",
    name: "PPO on an environment of 1 ms a step: frames of 4 workers, of those of one",
    engine: "host",
    unit: "%",
    ours: async ({ quick }) => {
      const epochs = quick ? 10 : 40;
      const one = await rate(1, epochs);
      const four = await rate(4, epochs);
      console.error(`cluster: ${one.toFixed(0)} frames/s by one worker, ${four.toFixed(0)} by four`);
      return (100 * four) / one;
    },
    bars: [{ kind: "absolute", atLeast: 320 }],
  },
];
