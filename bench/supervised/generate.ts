import { nn, spec } from "../../src/index.ts";
import { generate } from "../../src/language/index.ts";
import type { TimedFigure } from "../harness/figure.ts";

const sizes = { batch: 64, layers: 4, width: 128, heads: 4, vocabulary: 96, prompt: 32, length: 224 };

/** Samples from a small transformer, many sequences at once: PyTorch's, eager, with its cache, beside it. */
export const generation: TimedFigure = {
  kind: "timed",
  name: "generate 224 tokens of 64 sequences (transformer of 4 layers, width 128, prompts of 32)",
  engine: "xla",
  unit: "s",
  ours: async () => {
    const { batch, prompt, length, ...rest } = sizes;
    const model = nn.transformer({ ...rest, context: prompt + length });
    const params = model.init(0, spec([batch, prompt], "i32"), { engine: "xla" });
    const prompts = Array.from({ length: batch }, (_, i) =>
      Int32Array.from({ length: prompt }, (_, t) => (i * 7 + t * 3) % rest.vocabulary),
    );
    const once = (seed: number) => generate(model, params, prompts, { length, seed });
    await once(0);
    return {
      run: async (steps) => {
        const start = performance.now();
        for (let i = 0; i < steps; i++) await once(i);
        return (performance.now() - start) / 1000;
      },
    };
  },
  steps: 1,
  peers: { torch: { script: "torch_generate.py", case: "generate", params: sizes } },
  // 1.5 times the tokens a second.
  bars: [{ kind: "ratio", against: "torch", atMost: 0.667 }],
};
