import { every } from "../../src/schedule/index.ts";
import type { PeerCase, Subject, TimedFigure } from "../harness/figure.ts";
import { freshFolder } from "../harness/scratch.ts";
import { seconds } from "../harness/stopwatch.ts";
import { allLocalSinks } from "./all-sinks.ts";

const metrics = 50;
/** A tenth of a million values a round: SummaryWriter takes more than a minute for all. */
const steps = 2000;
const names = Array.from({ length: metrics }, (_, i) => `metric${i}`);

const through = (everyStep: boolean) => async (): Promise<Subject> => ({
  check: metrics * steps,
  run: async (times) => {
    let all = 0;
    for (let i = 0; i < times; i++) {
      const folder = freshFolder("logging");
      all += await seconds(async () => {
        const { logger, close } = await allLocalSinks(
          folder,
          everyStep ? { schedule: every({ steps: 1 }) } : {},
        );
        for (let step = 1; step <= steps; step++) {
          const values: Record<string, number> = {};
          for (let m = 0; m < metrics; m++) values[names[m] as string] = step / (m + 1);
          logger.log(values, step);
          // As a training loop does.
          if (step % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        await close();
      });
    }
    return all;
  },
});

const summaryWriter: PeerCase = {
  script: "summary_writer.py",
  case: "values",
  params: { metrics, steps, folder: freshFolder("torch-logging") },
};

/** The same values in seven places and in two. */
export const throughput: readonly TimedFigure[] = [
  {
    kind: "timed",
    name: "100,000 values through all local sinks at their default schedules",
    engine: "host",
    unit: "s",
    steps: 1,
    ours: through(false),
    peers: { summaryWriter },
    bars: [{ kind: "ratio", against: "summaryWriter", atMost: 0.2 }],
  },
  {
    kind: "timed",
    name: "100,000 values, every one of them written by all local sinks",
    engine: "host",
    unit: "s",
    steps: 1,
    ours: through(true),
    peers: { summaryWriter },
    bars: [{ kind: "ratio", against: "summaryWriter", atMost: 0.2 }],
  },
];
