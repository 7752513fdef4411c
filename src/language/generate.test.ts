import { describe, expect, it } from "vitest";
import { treeMap } from "../core/index.ts";
import { characterTokenizer } from "../data/index.ts";
import { put, type Tensor } from "../engine/index.ts";
import { sequential } from "../nn/index.ts";
import { prompts, sizes, smallModel } from "./generate.test-support.ts";
import { type Generated, type GenerateOptions, generate, streamTokens } from "./generate.ts";

const { model, params, logProbs, logProbsOf } = smallModel();
const run = (given: readonly number[], options: Partial<GenerateOptions> = {}) =>
  generate(model, params, given, { length: 8, ...options });

describe("generate", () => {
  it("goes on past the places that the cache began with, for more sequences than one group", async () => {
    const long = smallModel({ context: 160, layers: 1, width: 8 });
    const many = Array.from({ length: 33 }, (_, i) => prompts[i % 3] as number[]);
    const all = await generate(long.model, long.params, many, { length: 150, temperature: 0 });
    for (const i of [0, 32]) {
      const [prompt, { tokens }] = [many[i] as number[], all[i] as Generated];
      expect([...tokens]).toEqual(await long.likeliest(prompt, tokens));
    }
  });

  it("gives a sequence the same tokens alone, among others, and in chunks of any size", async () => {
    const seeds = [7, 8, 9];
    const together = await generate(model, params, prompts, { length: 8, seed: seeds });
    for (const [i, prompt] of prompts.entries())
      for (const chunk of [1, 3, 32])
        expect((await run(prompt, { seed: [seeds[i] as number], chunk })).tokens).toEqual(
          together[i]?.tokens,
        );
    expect((await run([3, 1, 4], { seed: 1 })).tokens).toEqual((await run([3, 1, 4], { seed: 1 })).tokens);
    expect((await run([3, 1, 4], { seed: 2 })).tokens).not.toEqual(
      (await run([3, 1, 4], { seed: 1 })).tokens,
    );
  });

  it("draws as often as the model says, and among the likeliest where it should", async () => {
    const many = Array.from({ length: 512 }, () => [3, 1, 4]);
    const last = (await logProbs([3, 1, 4])).at(-1) as number[];
    const counts = async (options: Partial<GenerateOptions>): Promise<number[]> => {
      const found = new Array<number>(sizes.vocabulary).fill(0);
      for (const { tokens } of await generate(model, params, many, { length: 1, ...options }))
        found[tokens[0] as number] = (found[tokens[0] as number] as number) + 1;
      return found;
    };
    const expected = last.map((value) => 512 * Math.exp(value));
    const chi = (await counts({ seed: 3 })).map(
      (n, i) => (n - (expected[i] as number)) ** 2 / (expected[i] as number),
    );
    expect(chi.reduce((a, b) => a + b)).toBeLessThan(30); // 10 degrees of freedom: one in a thousand
    const order = [...last.keys()].sort((a, b) => (last[b] as number) - (last[a] as number));
    const drawn = async (options: Partial<GenerateOptions>) =>
      (await counts(options)).flatMap((n, token) => (n > 0 ? [token] : []));
    expect(new Set(await drawn({ topK: 3 }))).toEqual(new Set(order.slice(0, 3)));
    let [share, size] = [0, 0];
    while (share < 0.5) share += Math.exp(last[order[size++] as number] as number);
    expect(new Set(await drawn({ topP: 0.5 }))).toEqual(new Set(order.slice(0, size)));
    expect(await drawn({ topK: 5, topP: 1e-6 })).toEqual([order[0]]);
    expect(await drawn({ temperature: 1e-3 })).toEqual([order[0]]);
  });

  it("ends at a stop, before it", async () => {
    const { tokens } = await run([3, 1, 4], { length: 12, seed: 5 });
    const stop = tokens[6] as number;
    const end = tokens.indexOf(stop);
    const cut = await run([3, 1, 4], { length: 12, seed: 5, stop: [stop, 99], chunk: 4, logProbs: true });
    expect(cut).toMatchObject({ stopped: true, tokens: tokens.slice(0, end) });
    expect(cut.logProbs).toHaveLength(end);
    const kept = await run([3, 1, 4], {
      length: 12,
      seed: 5,
      stop,
      chunk: 4,
      logProbs: true,
      keepStop: true,
    });
    expect(kept).toMatchObject({ stopped: true, tokens: tokens.slice(0, end + 1) });
    expect(kept.logProbs).toHaveLength(end + 1);
    expect((await run([3, 1, 4], { length: 12, seed: 5, stop: 99 })).stopped).toBe(false);
  });

  const letters = "abcdefghijk";
  const tokenizer = {
    encode: (text: string) => Int32Array.from(text, (letter) => letters.indexOf(letter)),
    decode: (tokens: Int32Array) => Array.from(tokens, (token) => letters[token]).join(""),
  };

  it("takes and gives text, in pieces that make the whole, and stops at a text", async () => {
    const options = { length: 12, seed: 5, tokenizer };
    const { text = "", tokens } = await generate(model, params, "dbe", options);
    expect(text).toBe(tokenizer.decode(tokens));
    expect(text).toHaveLength(12);
    const pieces: string[] = [];
    for await (const piece of streamTokens(model, params, "dbe", { ...options, chunk: 4 }))
      pieces.push(piece.text as string);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(text);
    // The stop begins in one piece and ends in the next: its beginning is not given out.
    const stop = text.slice(4, 7);
    const cut = await generate(model, params, "dbe", { ...options, stop, chunk: 4 });
    expect(cut).toMatchObject({ text: text.slice(0, text.indexOf(stop)), stopped: true });
  });

  it("draws no token of a padded vocabulary that the tokenizer does not have", async () => {
    const known = characterTokenizer(letters.slice(0, 6)); // The model has 11 tokens.
    const many = Array.from({ length: 16 }, () => [3, 1, 4]);
    for (const options of [{}, { topK: 9, topP: 0.9 }, { temperature: 0 }]) {
      const all = await generate(model, params, many, {
        ...{ length: 8, seed: 3, tokenizer: known, logProbs: true },
        ...options,
      });
      for (const { text, tokens, logProbs: found } of all) {
        expect(text).toBe(known.decode(tokens));
        // The model's own, of all its tokens: what losses compute again.
        for (const [t, wanted] of (await logProbsOf([3, 1, 4], tokens)).entries())
          expect(Math.abs((found?.[t] as number) - wanted)).toBeLessThan(1e-4);
      }
    }
    // Where none of those would be drawn, the tokens are the same as without.
    const [free] = await generate(model, params, [[3, 1, 4]], { length: 2, seed: 11 });
    const least = Math.max(...(free as Generated).tokens) + 1;
    const held = { ...tokenizer, vocabulary: Math.min(least, sizes.vocabulary - 1) };
    const [same] = await generate(model, params, [[3, 1, 4]], { length: 2, seed: 11, tokenizer: held });
    expect(same?.tokens).toEqual(free?.tokens);
  });

  it("says what is wrong", async () => {
    const fails = async (code: string, text: RegExp, work: Promise<unknown>) =>
      expect(work).rejects.toThrow(
        expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error,
      );
    await fails("CONTEXT_EXCEEDED", /3 tokens and 22 more.*24/, run([3, 1, 4], { length: 22 }));
    await fails("PROMPT_INVALID", /no tokens/, run([]));
    await fails(
      "PROMPT_INVALID",
      /prompt 1 has 11 at 0/,
      generate(model, params, [[1], [11]], { length: 2 }),
    );
    await fails("PROMPT_INVALID", /no tokenizer/, generate(model, params, "abc", { length: 2 }));
    await fails("OPTION_INVALID", /length/, run([1], { length: 0 }));
    await fails("OPTION_INVALID", /temperature is -1/, run([1], { temperature: -1 }));
    await fails("OPTION_INVALID", /2 seeds for 1/, run([1], { seed: [1, 2] }));
    await fails("OPTION_INVALID", /stop is a text/, run([1], { stop: "a" }));
    await fails("OPTION_INVALID", /stop is \["a",""\]/, run([1], { stop: ["a", ""], tokenizer }));
    const broken = treeMap(
      (one: Tensor) => put(one.readSync().fill(Number.NaN), { shape: one.shape, engine: "wasm" }),
      params,
    );
    for (const options of [{}, { topK: 2 }, { temperature: 0 }])
      await fails(
        "OUTPUTS_NOT_FINITE",
        /no numbers/,
        generate(model, broken, [1], { length: 3, ...options }),
      );
    await fails("MODEL_INVALID", /sequential/, generate(sequential([]), params, [1], { length: 1 }));
  });
});
