import { nn, np, put, spec } from "../../src/index.ts";
import { numbers } from "../engine/data.ts";
import type { TimedFigure } from "../harness/figure.ts";
import { training } from "../parts/training.ts";

const net = { size: 28, channels: [16, 32], dense: 64, classes: 10, batch: 64 };

/** A training step of a conv net with two convolutions. */
export const convStep: TimedFigure = {
  kind: "timed",
  name: "AdamW step, conv net of 2 convolutions (16 and 32 channels, 28x28 images, batch 64)",
  engine: "xla",
  unit: "ms",
  ours: () => {
    const { size, channels, dense, classes, batch } = net;
    const shape = [batch, size, size, 1];
    const labels = Int32Array.from({ length: batch }, (_, i) => i % classes);
    return training({
      model: nn.cnn({ channels, pool: 2, dense: [dense], out: classes }),
      input: spec(shape),
      x: put(numbers(0, batch * size * size), { shape, engine: "xla" }),
      y: put(labels, { engine: "xla" }),
      loss: (output, y) => np.mean(nn.crossEntropy(output, y, { reduction: "none" })),
    });
  },
  peers: {
    jax: { script: "jax_parts.py", case: "conv", params: net },
    torch: { script: "torch_parts.py", case: "conv", params: net },
  },
  bars: [{ kind: "ratio", against: "jax", atMost: 1.2 }],
};
