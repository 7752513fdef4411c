import { compile, np, scan, type Value } from "../../src/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { type Adam, adamStep, type Layer, start } from "./mlp.ts";
import { smallestNet } from "./nets.ts";

const length = 1000;

/** Many training steps in one call. */
async function steps(): Promise<Subject> {
  const { params, adam, x, y } = start(smallestNet, "xla");
  const train = compile(
    (params: readonly Layer<Value>[], adam: Adam<Value>, x: Value, y: Value) => {
      const [last, losses] = scan(
        ({ params, adam }: { readonly params: readonly Layer<Value>[]; readonly adam: Adam<Value> }) => {
          const [nextParams, nextAdam, loss] = adamStep(params, adam, x, y);
          return [{ params: nextParams, adam: nextAdam }, loss] as const;
        },
        { params, adam },
        undefined,
        { length },
      );
      return [last, np.mean(losses)] as const;
    },
    { engine: "xla" },
  );
  const run = async (times: number): Promise<number> => {
    let mean = 0;
    for (let i = 0; i < times; i++) mean = await train(params, adam, x, y)[1].item();
    return mean;
  };
  return { check: await run(1), run: (times) => seconds(() => run(times)) };
}

export const fusedSteps: TimedFigure = {
  kind: "timed",
  name: "1,000 Adam steps of the smallest net in one scan",
  engine: "xla",
  unit: "ms",
  ours: steps,
  peers: { jax: { script: "jax_engine.py", case: "fused", params: { ...smallestNet, length } } },
  bars: [{ kind: "ratio", against: "jax", atMost: 1.4 }],
};
