import { type WorkerProcesses, workerProcesses } from "../../src/doors/rollout.ts";
import type { NamedArrays } from "../../src/rollout/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";

/** 10 MB in 50 arrays, as a small transformer has them. */
const arrays: NamedArrays = Object.fromEntries(
  Array.from({ length: 50 }, (_, i) => [
    `w${i}`,
    { data: new Float32Array(50_000).fill(i), shape: [200, 250] },
  ]),
);

const start = (name: string): WorkerProcesses =>
  workerProcesses({
    module: new URL("./receiving-worker.ts", import.meta.url).href,
    ...{ name, count: 1 },
  });

/** From `publish` to a worker that has the arrays. */
async function receiving(): Promise<Subject> {
  const transport = start("worker");
  let id = 0;
  const once = async (): Promise<number> => {
    const from = Number(process.hrtime.bigint());
    await transport.publish({ id: id++, arrays });
    const rollout = await transport.take();
    return ((rollout?.metrics?.at as number) - from) / 1e9;
  };
  await once();
  return {
    run: async (times) => {
      let all = 0;
      for (let i = 0; i < times; i++) all += await once();
      return all;
    },
    dispose: () => transport.close(),
  };
}

/** From `take` to the next one, while a worker sends as fast as it can. */
async function taking(): Promise<Subject> {
  const transport = start("sender");
  await transport.publish({ id: 0, arrays });
  await transport.take();
  return {
    run: (times) =>
      seconds(async () => {
        for (let i = 0; i < times; i++) await transport.take();
      }),
    dispose: () => transport.close(),
  };
}

/** What the way between a trainer and a worker process costs. */
export const transportFigures: readonly TimedFigure[] = [
  {
    ...{
      kind: "timed",
      name: "10 MB of weights from the trainer to a worker process",
      engine: "host",
      unit: "ms",
    },
    ...{ steps: 20, ours: receiving, peers: {}, bars: [{ kind: "absolute", below: 10 }] },
  },
  {
    ...{
      kind: "timed",
      name: "a rollout of 1 MB from a worker process to the trainer",
      engine: "host",
      unit: "ms",
    },
    ...{ steps: 50, ours: taking, peers: {}, bars: [] },
  },
];
