// A dataset in a module of its own, so that worker threads can make it too: see streamed.ts.
import { type Dataset, type Example, glyphs } from "espalier/data";

/** Images of digits, shifted to the left or not, each epoch anew. */
export const noisyGlyphs = ({ count }: { readonly count: number }): Dataset<Example> =>
  glyphs({ count, seed: 3 }).map(({ x, y }, { random }) => {
    const by = random.integer(3);
    return { x: { data: x.data.map((_, i) => x.data[i + by] ?? 0), shape: x.shape }, y };
  });
