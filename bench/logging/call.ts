import { Logger } from "../../src/metrics/index.ts";
import { every } from "../../src/schedule/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";

/** Ten numbers into two kinds of windows, which end every 100 and every 1000 steps. */
async function tenNumbers(): Promise<Subject> {
  const logger = new Logger({
    sinks: [
      { name: "back end", write: () => undefined },
      { name: "console", schedule: every({ steps: 1000 }), write: () => undefined },
    ],
  });
  const values: Record<string, number> = {};
  for (let i = 0; i < 10; i++) values[`metric${i}`] = i / 3;
  let step = 0;
  return {
    run: (times) =>
      seconds(async () => {
        for (let i = 0; i < times; i++) {
          values.metric0 = step;
          logger.log(values, ++step);
        }
      }),
    dispose: async () => void (await logger.close()),
  };
}

/** What `log` costs whoever calls it at every step. */
export const call: readonly TimedFigure[] = [
  {
    kind: "timed",
    name: "log() of ten numbers, windows and their ends included",
    engine: "host",
    unit: "us",
    ours: tenNumbers,
    peers: {},
    bars: [{ kind: "absolute", atMost: 2 }],
  },
];
