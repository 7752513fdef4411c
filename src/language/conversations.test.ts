import { describe, expect, it } from "vitest";
import { characterTokenizer } from "../data/index.ts";
import { compile, put, spec, type Value } from "../engine/index.ts";
import { initializers, logSoftmax, type Params, transformer } from "../nn/index.ts";
import {
  type Conversation,
  type ConverseOptions,
  converse,
  type Tool,
  type ToolCall,
} from "./conversations.ts";
import { generate } from "./generate.ts";

const on = { engine: "wasm" } as const;
// "?" calls the tool and ".." ends a conversation.
const tokenizer = characterTokenizer(".?abcdefghijklmn");
const context = 64;
const model = transformer({
  vocabulary: 16,
  ...{ width: 8, layers: 1, heads: 2, context },
  init: initializers.normal({ std: 0.4 }),
});
const params = model.init(1, spec([1, 4], "i32"), on);
const whole = compile((p: Params, x: Value) => logSoftmax(model.apply(p, x)), on);

/** Log-probabilities of tokens by one pass over all of them: the first has none. */
async function logProbsOf(tokens: readonly number[]): Promise<number[]> {
  const padded = Int32Array.from({ length: context }, (_, t) => tokens[t] ?? 0);
  const flat = await whole(params, put(padded, { shape: [1, context], ...on })).read();
  return tokens.map((token, t) => (t === 0 ? 0 : (flat[(t - 1) * 16 + token] as number)));
}

const fails = (code: string, text: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error;
const prompts = ["ab", "cdefab", "f", "bbb", "acacaca"];
/** Answers with letters of what was said, in capitals of this lesson: "ace" as often as something was said. */
const tool: Tool = { stop: "?", call: async (said) => (said.length % 2 === 0 ? "ace" : "dd") };
const base: ConverseOptions = { length: 30, tokenizer, stop: "..", tool, turns: 2 };
const run = (given: readonly string[], options: Partial<ConverseOptions> = {}) =>
  converse(model, params, given, { ...base, ...options });
/** Many, so that every end is among them. */
const many = Array.from({ length: 20 }, (_, i) => prompts[i % prompts.length] as string);

/** The tokens of a conversation as pieces of text, those of the tool in brackets. */
function pieces({ tokens, made }: Conversation): string {
  const text = tokenizer.decode(tokens);
  return [...text]
    .map((letter, i) => (made[i] ? letter : `[${letter}]`))
    .join("")
    .replaceAll("][", "");
}

describe("converse", () => {
  it("has room for answers where the context is small", async () => {
    const small = transformer({ vocabulary: 16, width: 8, layers: 1, heads: 2, context: 12 });
    const own = small.init(1, spec([1, 4], "i32"), on);
    const asks = many.map(() => "ab");
    const all = await converse(small, own, asks, { ...base, length: 10 });
    expect(all.some(({ made }) => made.includes(0))).toBe(true);
  });

  it("ends in the middle of a round where its signal is aborted", async () => {
    const controller = new AbortController();
    let decoded = 0;
    const decode = (tokens: ArrayLike<number>): string => {
      decoded++;
      controller.abort();
      return tokenizer.decode(Int32Array.from(tokens));
    };
    const aborting = { encode: (text: string) => tokenizer.encode(text), decode };
    const { signal } = controller;
    await expect(run(prompts, { tokenizer: aborting, signal })).rejects.toThrow("aborted");
    expect(decoded).toBeLessThan(prompts.length);
  });

  it("appends the tool's answers, and goes on after them", async () => {
    const all = await run(many);
    expect(all.reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(20);
    expect(new Set(all.map(({ ended }) => ended))).toEqual(new Set(["stop", "length", "turns"]));
    for (const one of all) {
      expect(one.tokens.length).toBeLessThanOrEqual(30);
      expect(one.made).toHaveLength(one.tokens.length);
      // Whatever stands after a "?" of the model is the tool's answer to the words before it.
      const shown = pieces(one);
      const answered = [...shown.matchAll(/([^?[\]]*)\?\[(\w+)\]/g)];
      // The last call has no answer where there is no room for it.
      const unanswered = one.ended === "length" && shown.endsWith("?");
      expect(answered).toHaveLength(one.calls - (unanswered ? 1 : 0));
      for (const [, said = "", answer] of answered) expect(answer).toBe(said.length % 2 === 0 ? "ace" : "dd");
      const stop = one.ended === "stop" ? ".." : one.ended === "turns" || unanswered ? "?" : "";
      expect(tokenizer.decode(one.tokens)).toBe(one.text + stop);
    }
  });

  it("gives the log-probabilities of one pass over the whole conversation", async () => {
    const all = await run(many, { temperature: 1.3 });
    let compared = 0;
    for (const [i, { tokens, made, logProbs }] of all.entries()) {
      const prompt = tokenizer.encode(many[i] as string);
      const expected = (await logProbsOf([...prompt, ...tokens])).slice(prompt.length);
      for (const [t, flag] of made.entries()) {
        const difference = Math.abs((logProbs[t] as number) - (flag ? (expected[t] as number) : 0));
        expect(difference).toBeLessThan(1e-4);
        compared += flag;
      }
    }
    expect(compared).toBeGreaterThan(200);
  });

  it("gives a conversation the same tokens alone and among others", async () => {
    const seeds = many.map((_, i) => 1000 + i);
    const together = await run(many, { seeds });
    expect(await run(many, { seeds })).toEqual(together);
    for (const i of together.flatMap(({ calls }, at) => (calls > 0 ? [at] : [])).slice(0, 2)) {
      const [alone] = await run([many[i] as string], { seeds: [seeds[i] as number] });
      expect(alone?.tokens).toEqual(together[i]?.tokens);
    }
    // A later turn has random numbers of its own, not those of the first again.
    const later = together.flatMap(({ tokens, made }, i) => {
      const from = made.lastIndexOf(0) + 1;
      return from === 0 ? [] : [{ i, said: tokens.slice(0, from), next: tokens.slice(from) }];
    });
    const again = await generate(
      model,
      params,
      later.map(({ i, said }) => [...tokenizer.encode(many[i] as string), ...said]),
      { length: 4, seed: later.map(({ i }) => seeds[i] as number) },
    );
    const same = later.filter(({ next }, k) => String(next.slice(0, 4)) === String(again[k]?.tokens));
    expect(same.length).toBeLessThan(later.length / 2);
  });

  it("is generate, where there is no tool", async () => {
    const seeds = [4, 5, 6, 7, 8];
    const common = { length: 32, tokenizer, stop: ".", temperature: 0.9 };
    const plain = await generate(model, params, prompts, {
      ...common,
      seed: seeds,
      keepStop: true,
      logProbs: true,
    });
    const all = await converse(model, params, prompts, { ...common, seeds });
    for (const [i, { tokens, logProbs, text }] of all.entries())
      expect(plain[i]).toMatchObject({ tokens, logProbs, text });
    expect(all.every(({ made, calls }) => made.every((flag) => flag === 1) && calls === 0)).toBe(true);
  });

  it("calls the tool for all at once, with what each needs to know", async () => {
    const problems = many.map((prompt) => ({ prompt, answer: "a" }));
    const calls: (Omit<ToolCall, "signal"> & { readonly said: string })[] = [];
    const waiting: (() => void)[] = [];
    const call: Tool["call"] = async (said, { signal, ...given }) => {
      expect(signal.aborted).toBe(false);
      calls.push({ said, ...given });
      // Nobody gets an answer before all have asked.
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        setImmediate(() => {
          for (const free of waiting.splice(0)) free();
        });
      });
      return "ace";
    };
    const all = await run(many, { tool: { stop: "?", call }, problems });
    expect(calls).toHaveLength(all.reduce((sum, one) => sum + one.calls, 0));
    expect(calls.length).toBeGreaterThan(10);
    for (const { said, text, conversation, turn, problem } of calls) {
      expect(problem).toBe(problems[conversation]);
      expect(text.split("?")).toHaveLength(turn + 1);
      expect(text.endsWith(said)).toBe(true);
      expect(all[conversation]?.text.startsWith(text)).toBe(true);
    }
  });

  it("never goes beyond the model's context, whatever the prompts beside it", async () => {
    const long = "abcdef".repeat(9); // 54 of 64 places
    const given = ["ab", long, "f"];
    const seeds = [1, 2, 3];
    const free = await run(given, { length: 60, seeds, turns: 9 });
    for (const [i, { tokens }] of free.entries())
      expect((given[i] as string).length + tokens.length).toBeLessThanOrEqual(context);
    expect((await run(["ab"], { length: 60, seeds: [1], turns: 9 }))[0]?.tokens).toEqual(free[0]?.tokens);
    await expect(run([`${long}${long}`])).rejects.toThrow(
      fails("CONTEXT_EXCEEDED", /prompt 0 has 108 tokens.*64/),
    );
    // An answer for which there is no room ends it; so does a tool that has none.
    const bulky = await run(many, { tool: { stop: "?", call: () => "abcdef".repeat(7) } });
    expect(
      bulky.every(({ tokens, calls, ended }) => tokens.length <= 30 && (calls === 0 || ended === "length")),
    ).toBe(true);
    const silent = await run(many, { tool: { stop: "?", call: () => undefined } });
    expect(
      silent.some(({ ended, calls, text }) => ended === "tool" && calls === 1 && !text.includes("?")),
    ).toBe(true);
    const none = await run(many, { turns: 0 });
    expect(none.every(({ calls }) => calls === 0)).toBe(true);
  });

  it.each([
    ["throws", (): Promise<string> => Promise.reject(new RangeError("no such page")), /no such page/],
    ["never answers", (): Promise<string> => new Promise<string>(() => undefined), /no answer in 30 ms/],
    ["gives no text", (): string => JSON.parse("5") as string, /gave 5, which is no text/],
    ["gives unknown characters", (): string => "A", /does not know "A"/],
  ] as const)("names and counts the calls of a tool that %s", async (_, broken, what) => {
    const plain = await run(many);
    const chosen = plain.findIndex(({ calls }) => calls > 0);
    const stops: AbortSignal[] = [];
    const call = (said: string, given: ToolCall): ReturnType<Tool["call"]> => {
      stops.push(given.signal);
      return given.conversation === chosen ? broken() : tool.call(said, given);
    };
    const failing = { stop: "?", call, timeout: 30 };
    const where = `conversation ${chosen}, call 0 of the tool \\(said "[^"]*"\\)`;
    await expect(run(many, { tool: failing })).rejects.toThrow(
      fails("TOOL_FAILED", new RegExp(`${where}.*${what.source}`)),
    );
    stops.length = 0;
    const all = await run(many, { tool: { ...failing, onFailure: "end" } });
    expect(all[chosen]).toMatchObject({
      ...{ ended: "failure", calls: 1, failures: 1 },
      failure: fails("TOOL_FAILED", what),
    });
    expect(all[chosen]?.made.every((flag) => flag === 1)).toBe(true);
    expect(stops.filter(({ aborted }) => aborted)).toHaveLength(1);
    for (const [i, { tokens }] of plain.entries()) if (i !== chosen) expect(all[i]?.tokens).toEqual(tokens);
  });

  it("ends with the signal's reason while a tool is waited for", async () => {
    const stop = new AbortController();
    let aborted: AbortSignal | undefined;
    const call: Tool["call"] = (_, { signal }) => {
      aborted = signal;
      stop.abort(new Error("enough"));
      return new Promise(() => undefined);
    };
    await expect(run(many, { tool: { stop: "?", call }, signal: stop.signal })).rejects.toThrow("enough");
    expect(aborted?.aborted).toBe(true);
  });

  it("says which option is wrong", async () => {
    await expect(run(prompts, { seeds: [1] })).rejects.toThrow(
      fails("OPTION_INVALID", /1 seeds for 5 prompts/),
    );
    await expect(run(prompts, { stop: "?" })).rejects.toThrow(fails("OPTION_INVALID", /both "\?"/));
    await expect(run(prompts, { tool: { ...tool, timeout: 0 } })).rejects.toThrow(
      fails("OPTION_INVALID", /tool: timeout is 0/),
    );
    await expect(run(prompts, { stop: "\n" })).rejects.toThrow(fails("VOCABULARY_MISMATCH", /stop.*"\\n"/));
    await expect(run(["ab", ""])).rejects.toThrow(fails("PROMPT_INVALID", /prompt 1/));
    expect(await run([])).toEqual([]);
  });
});
