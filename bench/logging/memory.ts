import type { CountedFigure } from "../harness/figure.ts";
import { inFreshProcess } from "../harness/fresh-process.ts";

/** Whether memory grows with what is logged. */
export const memory: readonly CountedFigure[] = [
  {
    kind: "counted",
    name: "10,000,000 values through all local sinks: resident memory gained after the first tenth",
    engine: "host",
    unit: "MB",
    ours: ({ quick }) =>
      inFreshProcess<number>(
        new URL("./endure.ts", import.meta.url),
        [quick ? "20000" : "200000"],
        ["--expose-gc"],
      ),
    bars: [{ kind: "absolute", atMost: 64 }],
  },
];
