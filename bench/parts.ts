import { nn, np, put, spec } from "../src/index.ts";
import { numbers } from "./engine/data.ts";
import type { Figure, TimedFigure } from "./harness/figure.ts";
import { training } from "./parts/training.ts";

const lstm = { width: 64, layers: 2, length: 64, batch: 32 };
const transformer = { layers: 4, width: 128, heads: 4, context: 128, batch: 32, vocabulary: 96 };

const peers = (work: string, params: Readonly<Record<string, unknown>>): TimedFigure["peers"] => ({
  jax: { script: "jax_parts.py", case: work, params },
  torch: { script: "torch_parts.py", case: work, params },
});

/** What models are made of, trained: against JAX, with PyTorch beside it. */
export const figures: readonly Figure[] = [
  {
    kind: "timed",
    name: "AdamW step, LSTM of 2 layers (width 64, 64 steps, batch 32)",
    engine: "xla",
    unit: "ms",
    ours: () => {
      const { width, layers, length, batch } = lstm;
      const shape = [batch, length, width];
      const size = batch * length * width;
      return training({
        model: nn.lstm(width, { layers }),
        input: spec(shape),
        x: put(numbers(0, size), { shape, engine: "xla" }),
        y: put(numbers(1, size), { shape, engine: "xla" }),
        loss: (output, y) => nn.mse(output, y),
      });
    },
    peers: peers("lstm", lstm),
    bars: [{ kind: "ratio", against: "jax", atMost: 1.2 }],
  },
  {
    kind: "timed",
    name: "AdamW step, transformer of 4 layers (width 128, 4 heads, context 128, batch 32)",
    engine: "xla",
    unit: "ms",
    ours: () => {
      const { vocabulary, context, batch, layers, width, heads } = transformer;
      const shape = [batch, context];
      const tokens = Int32Array.from({ length: batch * context }, (_, i) => (i * 31) % vocabulary);
      const x = put(tokens, { shape, engine: "xla" });
      return training({
        model: nn.transformer({ vocabulary, width, layers, heads, context }),
        input: spec(shape, "i32"),
        x,
        y: x,
        loss: (output, y) => np.mean(nn.crossEntropy(output, y, { reduction: "none" })),
      });
    },
    peers: peers("transformer", transformer),
    bars: [{ kind: "ratio", against: "jax", atMost: 1.2 }],
  },
];
