import { compile, np, put, type Value } from "../../src/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";

/** Calls of a compiled function that adds one to a number: what a call costs by itself. */
async function calls(read: boolean): Promise<Subject> {
  const call = compile((x: Value) => np.add(x, 1), { engine: "xla" });
  const x = put(1, { engine: "xla" });
  const run = async (steps: number): Promise<void> => {
    let last = call(x);
    for (let i = 1; i < steps; i++) {
      const next = call(x);
      last.dispose();
      last = next;
    }
    await last.item();
    last.dispose();
  };
  const readEach = async (steps: number): Promise<void> => {
    for (let i = 0; i < steps; i++) {
      const y = call(x);
      await y.item();
      y.dispose();
    }
  };
  return {
    check: await call(x).item(),
    run: (steps) => seconds(() => (read ? readEach(steps) : run(steps))),
  };
}

export const emptyCalls: readonly TimedFigure[] = [false, true].map((read) => ({
  kind: "timed",
  name: `call with nothing to do, ${read ? "reading the result" : "without read-back"}`,
  engine: "xla",
  unit: "us",
  ours: () => calls(read),
  peers: { jax: { script: "jax_engine.py", case: "empty", params: { read } } },
  bars: [{ kind: "absolute", atMost: read ? 30 : 5 }],
}));
