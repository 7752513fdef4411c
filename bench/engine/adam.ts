import { compile } from "../../src/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { adamStep, start } from "./mlp.ts";
import { type Net, netName } from "./nets.ts";

/** Training steps of an MLP, waiting for the loss of each. */
export async function training(net: Net, engine: "xla" | "wasm"): Promise<Subject> {
  let { params, adam, x, y } = start(net, engine);
  const step = compile(adamStep, { engine, donate: [0, 1] });
  const train = async (steps: number): Promise<number> => {
    let last = 0;
    for (let i = 0; i < steps; i++) {
      const [nextParams, nextAdam, loss] = step(params, adam, x, y);
      params = nextParams;
      adam = nextAdam;
      last = await loss.item();
      loss.dispose(); // as Python frees it when the name is taken again
    }
    return last;
  };
  return { check: await train(10), run: (steps) => seconds(() => train(steps)) };
}

/** A figure for the same net in a peer's hands. */
export function adamFigure(
  net: Net,
  engine: "xla" | "wasm",
  peers: Readonly<Partial<Record<"jax" | "torch" | "jaxjs", string>>>,
  bars: TimedFigure["bars"],
): TimedFigure {
  const params = { sizes: net.sizes, batch: net.batch };
  return {
    kind: "timed",
    name: `Adam step, ${netName(net)}`,
    engine,
    unit: "ms",
    ours: () => training(net, engine),
    peers: Object.fromEntries(
      Object.entries(peers).map(([name, script]) => [name, { script, case: "adam", params }]),
    ),
    bars,
  };
}
