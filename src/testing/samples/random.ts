import { dense } from "../dense.ts";
import type { Sample, SampleMaker } from "../sample.ts";

const threefry2x32: SampleMaker = (random) => {
  const words = (shape: readonly number[]) => random.numbers("u32", shape, 0, 4294967295);
  const sample = (...shapes: (readonly number[])[]): Sample => ({ inputs: shapes.map(words) });
  return [
    sample([], [], [3], [3]),
    sample([2, 2], [2, 2], [2, 2], []),
    { ...sample([], [], [], []), for: "values" },
    { ...sample([1], [1], [1], [1]), for: "values" },
    { ...sample([], [], [0], [0]), for: "values" },
    {
      inputs: [0, 0, 4294967295, 4294967295].map((word) => dense("u32", [1], [word])),
      for: "values",
    },
  ];
};

export const randomSamples: Readonly<Record<string, SampleMaker>> = { threefry2x32 };
