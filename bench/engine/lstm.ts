import { compile, nn, np, put, scan, type Value, valueAndGrad } from "../../src/index.ts";
import type { Subject, TimedFigure } from "../harness/figure.ts";
import { seconds } from "../harness/stopwatch.ts";
import { numbers } from "./data.ts";

const [width, inputs, batch, length] = [64, 64, 32, 128];

interface Weights {
  readonly wx: Value;
  readonly wh: Value;
  readonly b: Value;
}
type Carry = readonly [h: Value, c: Value];

/** The mean square of everything an LSTM gives over a sequence. */
function loss({ wx, wh, b }: Weights, xs: Value): Value {
  const cell = ([h, c]: Carry, x: Value): readonly [Carry, Value] => {
    const gates = np.add(np.add(np.matmul(x, wx), np.matmul(h, wh)), b);
    const [i, f, g, o] = np.split(gates, 4, { axis: 1 }) as [Value, Value, Value, Value];
    const kept = np.multiply(nn.sigmoid(f), c);
    const next = np.add(kept, np.multiply(nn.sigmoid(i), np.tanh(g)));
    const out = np.multiply(nn.sigmoid(o), np.tanh(next));
    return [[out, next], out];
  };
  const zeros = np.zeros([batch, width]);
  const [, hs] = scan(cell, [zeros, zeros] as Carry, xs);
  return np.mean(np.square(hs));
}

async function gradient(): Promise<Subject> {
  const place = (seed: number, shape: readonly number[], scale: number) =>
    put(
      numbers(
        seed,
        shape.reduce((a, b) => a * b),
        scale,
      ),
      { shape, engine: "xla" },
    );
  const weights = {
    wx: place(0, [inputs, 4 * width], inputs ** -0.5),
    wh: place(1, [width, 4 * width], width ** -0.5),
    b: place(0, [4 * width], 0),
  };
  const xs = place(2, [length, batch, inputs], 1);
  const step = compile((weights: Weights, xs: Value) => valueAndGrad(loss)(weights, xs), { engine: "xla" });
  const run = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const [, grads] = step(weights, xs);
      await Promise.all([grads.wx.ready(), grads.wh.ready(), grads.b.ready()]);
    }
  };
  const wh = Float32Array.from(await step(weights, xs)[1].wh.read());
  return {
    check: wh.reduce((sum, value) => sum + Math.abs(value), 0),
    run: (times) => seconds(() => run(times)),
  };
}

export const lstmGradient: TimedFigure = {
  kind: "timed",
  name: `gradient of an LSTM (width ${width}, batch ${batch}) over ${length} steps`,
  engine: "xla",
  unit: "ms",
  ours: gradient,
  peers: { jax: { script: "jax_engine.py", case: "lstm", params: { width, inputs, batch, length } } },
  bars: [{ kind: "ratio", against: "jax", atMost: 1.5 }],
};
