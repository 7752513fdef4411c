import type { CountedFigure, TimedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";
import { run, trainOnce, windowsOfFile } from "./token-run.ts";

const bytes = process.argv.includes("--quick") ? 1e8 : 5e9;

const time: TimedFigure = {
  kind: "timed",
  name: `${run.updates} updates of a 2-layer transformer on windows of 64 from a file of 5 GB of tokens`,
  engine: "xla",
  unit: "s",
  steps: 1,
  ours: async () => {
    const windows = windowsOfFile(bytes);
    return { run: () => trainOnce(windows) };
  },
  peers: { memory: { script: "memory_training.ts", case: "tokens", params: {} } },
  bars: [{ kind: "ratio", against: "memory", atMost: 1.1 }],
};

const memory: CountedFigure = {
  kind: "counted",
  name: "resident memory that the stream of 5 GB adds to training",
  engine: "xla",
  unit: "MB",
  ours: () => inFreshProcess<number>(new URL("./token-memory.ts", import.meta.url), [String(bytes)]),
  bars: [{ kind: "absolute", atMost: 300 }],
};

/** Training on a file of tokens that is larger than memory should be. */
export const tokenStream = [time, memory] as const;
