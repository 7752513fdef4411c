import { describe, expect, it } from "vitest";
import { compile, type EngineName, np, put, random, read, type Value, vmap } from "../../engine/index.ts";
import { testEngines } from "../../engine/run/engines.test-support.ts";
import { box } from "../spaces/index.ts";
import { categorical, choiceAt, gaussian, multiCategorical, squashedGaussian } from "./distributions.ts";
import { expectClose } from "./policies.test-support.ts";
import type { Distribution } from "./policy.ts";

const draws = 20_000;

/** Raw and acted actions drawn for the same parameters in every row. */
async function drawn(engine: EngineName, d: Distribution, row: readonly number[], mask?: readonly boolean[]) {
  const run = compile(
    () => {
      const rows = np.broadcastTo(np.array(row), [draws, row.length]);
      const parameters = mask ? (d.masked?.(rows, np.array(mask)) ?? rows) : rows;
      const raw = d.sample(parameters, random.key(3));
      return { raw, acted: d.act(raw) };
    },
    { engine },
  );
  const { raw, acted } = await read(run());
  return { raw: raw as Float32Array, acted: acted as Float32Array };
}

const softmax = (logits: readonly number[]): number[] => {
  const sum = logits.reduce((total, x) => total + Math.exp(x), 0);
  return logits.map((x) => Math.exp(x) / sum);
};

/** How far counts are from what probabilities let expect. */
function chiSquare(counts: readonly number[], probabilities: readonly number[]): number {
  const total = counts.reduce((a, b) => a + b);
  return probabilities.reduce((sum, p, i) => {
    const expected = p * total;
    return sum + ((counts[i] as number) - expected) ** 2 / expected;
  }, 0);
}

function counted(choices: Iterable<number>, n: number): number[] {
  const counts = new Array<number>(n).fill(0);
  for (const choice of choices) counts[choice] = (counts[choice] as number) + 1;
  return counts;
}

describe.each(testEngines())("sampling on %s", (engine) => {
  // Bounds are what one in 10,000 sound samplers passes, for n - 1 degrees of freedom.
  it.each([
    ["two choices", [0.4, -0.8], 15.2],
    ["five choices", [0, 1, -2, 0.5, 2], 23.6],
    ["forty choices", Array.from({ length: 40 }, (_, i) => Math.sin(i)), 79.1],
  ] as const)("draws %s as often as they are likely", async (_name, logits, bound) => {
    const { raw } = await drawn(engine, categorical(logits.length), logits);
    expect(raw.length).toBe(draws);
    expect(chiSquare(counted(raw, logits.length), softmax(logits))).toBeLessThan(bound);
  });

  it("draws several choices independently of each other", async () => {
    const logits = [0, 1, -1, 0.5, 0.5, 0, 1, -1];
    const { raw } = await drawn(engine, multiCategorical([3, 3, 2]), logits);
    const cells: number[] = [];
    for (let r = 0; r < draws; r++)
      cells.push((raw[3 * r] as number) * 6 + (raw[3 * r + 1] as number) * 2 + (raw[3 * r + 2] as number));
    const [a, b, c] = [softmax(logits.slice(0, 3)), softmax(logits.slice(3, 6)), softmax(logits.slice(6))];
    const joint = a.flatMap((p) => b.flatMap((q) => c.map((r) => p * q * r)));
    expect(chiSquare(counted(cells, 18), joint)).toBeLessThan(46);
  });

  it.each([
    ["categorical", categorical(3), [0, 1, 2]],
    ["gaussian", gaussian(box({ shape: [2] })), [0, 1, 0, 1]],
  ] as const)("draws rows of a %s with keys of their own, each the same alone", async (_name, d, row) => {
    const run = compile(
      (keys: Value) => {
        const rows = np.broadcastTo(np.array(row), [8, row.length]);
        const alone = (i: number): Value => d.sample(np.array(row), np.slice(keys, i));
        return {
          together: vmap((p: Value, key: Value) => d.sample(p, key))(rows, keys),
          alone: np.stack(Array.from({ length: 8 }, (_, i) => alone(i))),
        };
      },
      { engine },
    );
    const keys = Uint32Array.from({ length: 16 }, (_, i) => 7 * i);
    const { together, alone } = await read(run(put(keys, { shape: [8, 2], engine })));
    // Up to rounding, which goes by how many stand side by side.
    expectClose(together, alone, 1e-5);
    expect(new Set(together).size).toBeGreaterThan(1);
  });

  it("never draws what is forbidden, and the rest as likely as before", async () => {
    const mask = [false, true, true, false, true, false];
    const { raw } = await drawn(engine, categorical(6), [5, 0, 1, 9, -1, 4], mask);
    const counts = counted(raw, 6);
    expect([counts[0], counts[3], counts[5]]).toEqual([0, 0, 0]);
    expect(chiSquare([counts[1], counts[2], counts[4]] as number[], softmax([0, 1, -1]))).toBeLessThan(18.5);
  });

  it("draws anything where all is forbidden, and no NaN", async () => {
    const { raw } = await drawn(engine, categorical(3), [1, 2, 3], [false, false, false]);
    expect(chiSquare(counted(raw, 3), [1 / 3, 1 / 3, 1 / 3])).toBeLessThan(18.5);
  });

  it("never gives a forbidden choice at either end of the line", async () => {
    const [rows, n] = [512, 7];
    const logits = Float32Array.from({ length: rows * n }, (_, i) =>
      (i + Math.floor(i / n)) % 3 === 0 ? 3 * Math.sin(i * 1.3) : -1e9,
    );
    const run = compile(
      (x: Value) => [choiceAt(x, np.zeros([rows])), choiceAt(x, np.full([rows], 1 - 2 ** -23))],
      { engine },
    );
    for (const chosen of await read(run(put(logits, { shape: [rows, n], engine }))))
      for (let r = 0; r < rows; r++)
        expect(logits[r * n + ((chosen as Float32Array)[r] as number)]).toBeGreaterThan(-1e9);
  });

  it("draws normal numbers of the deviations given, and clips what it gives to the environment", async () => {
    const { raw, acted } = await drawn(engine, gaussian(box({ shape: [2], low: [-1, -9], high: 1 })), [
      0.5,
      -3,
      Math.log(2),
      Math.log(0.1),
    ]);
    const column = (i: number): number[] => Array.from({ length: draws }, (_, r) => raw[2 * r + i] as number);
    const mean = (xs: readonly number[]): number => xs.reduce((a, b) => a + b) / xs.length;
    const deviation = (xs: readonly number[]): number =>
      Math.sqrt(mean(xs.map((x) => x * x)) - mean(xs) ** 2);
    // Four standard errors.
    expect(Math.abs(mean(column(0)) - 0.5)).toBeLessThan(4 * (2 / Math.sqrt(draws)));
    expect(Math.abs(deviation(column(0)) / 2 - 1)).toBeLessThan(4 / Math.sqrt(2 * draws));
    expect(Math.abs(mean(column(1)) + 3)).toBeLessThan(4 * (0.1 / Math.sqrt(draws)));
    expect(Math.abs(deviation(column(1)) / 0.1 - 1)).toBeLessThan(4 / Math.sqrt(2 * draws));
    const clipped = raw.map((x, i) => Math.min(Math.max(x, i % 2 === 0 ? -1 : -9), 1));
    expect(acted).toEqual(clipped);
  });

  it("squashes normal numbers into bounds, which they reach and do not pass", async () => {
    const space = box({ shape: [1], low: 0.1, high: 0.7 });
    const { raw, acted } = await drawn(engine, squashedGaussian(space), [0, Math.log(4)]);
    const [low, high] = [Math.fround(0.1), Math.fround(0.7)];
    expect(acted.every((x) => x >= low && x <= high)).toBe(true);
    expect(acted.some((x) => x === high)).toBe(true);
    raw.slice(0, 100).forEach((x, i) => {
      expect(acted[i]).toBeCloseTo(0.4 + 0.3 * Math.tanh(x), 5);
    });
  });
});

describe("modes", () => {
  it("are the most likely choice, and the mean", async () => {
    const run = compile(
      () => [
        multiCategorical([3, 2]).mode(np.array([[0, 2, 1, 5, 4]])),
        gaussian(box({ shape: [2] })).mode(np.array([[3, -1, 0, 0]])),
      ],
      { engine: "wasm" },
    );
    const [choices, means] = await read(run());
    expect(choices).toEqual(Float32Array.of(1, 0));
    expect(means).toEqual(Float32Array.of(3, -1));
  });
});

describe("what distributions refuse", () => {
  it.each([
    [() => categorical(0), "n is 0"],
    [() => multiCategorical([]), "is no list of choices"],
    [() => multiCategorical([2, 1.5]), "choices[1] is 1.5"],
    [() => gaussian(box({ shape: [1] }), { deviatio: "dependent" } as object), 'did you mean "deviation"'],
    [
      () => squashedGaussian(box({ shape: [2], low: 0, high: [1, Number.POSITIVE_INFINITY] })),
      "number 1 lies between 0 and Infinity",
    ],
  ])("%s", (make, message) => {
    expect(make).toThrow(message);
  });
});
