import { describe, expect, it } from "vitest";
import { sweepEngines } from "../engine/run/engines.test-support.ts";
import { initializers, type Transformer } from "../nn/index.ts";
import { prompts, smallModel } from "./generate.test-support.ts";
import { type Generated, generate } from "./generate.ts";

describe.each(sweepEngines())("generate on %s", (engine) => {
  it.each([
    {},
    { positions: "rotary", keyValueHeads: 1, norm: "rms", activation: "swiglu" },
    { positions: "sinusoidal", tieEmbeddings: true },
  ] as const)(
    "takes the likeliest token of the whole pass, for prompts of any lengths: %j",
    async (options) => {
      const { model, params, likeliest } = smallModel(options, engine);
      const all = await generate(model, params, prompts, { length: 9, temperature: 0, chunk: 3 });
      for (const [i, { tokens }] of all.entries())
        expect([...tokens]).toEqual(await likeliest(prompts[i] as number[], tokens));
    },
  );

  it("gives the log-probabilities of a whole pass", async () => {
    const { model, params, logProbsOf } = smallModel({}, engine);
    const all = await generate(model, params, prompts, { length: 12, logProbs: true, chunk: 5 });
    for (const [i, { tokens, logProbs = [] }] of all.entries()) {
      expect(logProbs).toHaveLength(12);
      for (const [t, wanted] of (await logProbsOf(prompts[i] as number[], tokens)).entries())
        expect(Math.abs((logProbs[t] as number) - wanted)).toBeLessThan(1e-5);
    }
  });

  it.each([{}, { activation: "swiglu", bias: false }] as const)(
    "gives them where rows are many enough for products in pieces: %j",
    async (options) => {
      const init = initializers.normal({ std: 0.1 });
      const { model, params, logProbsOf } = smallModel({ width: 128, layers: 1, init, ...options }, engine);
      const many = Array.from({ length: 9 }, (_, i) => prompts[i % 3] as number[]);
      const all = await generate(model, params, many, { length: 5, logProbs: true });
      for (const i of [0, 8]) {
        const { tokens, logProbs } = all[i] as Generated;
        for (const [t, wanted] of (await logProbsOf(many[i] as number[], tokens)).entries())
          expect(logProbs?.[t]).toBeCloseTo(wanted, 4);
      }
    },
  );

  it("gives the same bits whether groups of sequences run beside each other or not", async () => {
    const { model, params } = smallModel({}, engine);
    const many = Array.from({ length: 64 }, (_, i) => prompts[i % 3] as number[]);
    const seeds = many.map((_, i) => i);
    const run = (from: number, to: number) =>
      generate(model, params, many.slice(from, to), {
        length: 18,
        chunk: 7,
        logProbs: true,
        seed: seeds.slice(from, to),
      });
    // Of 32 there is one group.
    expect(await run(0, 64)).toEqual([...(await run(0, 32)), ...(await run(32, 64))]);
  });

  it("gives the same tokens in chunks of any size, and compiles nothing for other prompts of the same sizes", async () => {
    const { model, params } = smallModel({}, engine);
    // Programs are traced once for each that is compiled.
    let traced = 0;
    const counted: Transformer = {
      ...model,
      applyCached: (...given) => {
        traced++;
        return model.applyCached(...given);
      },
    };
    const run = (chunk: number, given = prompts, seed = 3) =>
      generate(counted, params, given, { length: 8, chunk, seed });
    const first = await run(3);
    expect(await run(32)).toEqual(first);
    const programs = traced;
    expect(programs).toBeGreaterThan(1);
    const other = await run(3, [[2, 7], [10, 10, 4], [6]], 4);
    expect(other).not.toEqual(first);
    expect(await run(32, [[2, 7], [10, 10, 4], [6]], 4)).toEqual(other);
    expect(traced).toBe(programs);
  });
});
