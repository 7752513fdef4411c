import { expect, it } from "vitest";
import { scoreAll, type TextReward, type TextSample } from "./rewards.ts";

/** A sample of the lesson "words" with this text. */
export const sample = (text: string, more: Partial<TextSample> = {}): TextSample => ({
  lesson: "words",
  prompt: "say:",
  answer: "yes",
  text,
  tokens: Int32Array.of(1),
  ...more,
});

export const samples = (...texts: string[]): TextSample[] => texts.map((text) => sample(text));

export const fails = (code: string, text: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(text) }) as Error;

/** Ways in which a reward is called: the function, and a text for which it never answers. */
export function behavesAsReward(
  ways: readonly (readonly [name: string, reward: TextReward, hangs: string])[],
): void {
  it.each(ways)("judges samples in their order, by %s", async (_, reward) => {
    const many = Array.from({ length: 50 }, (_, i) => sample("x".repeat(i)));
    const { rewards, failures } = await scoreAll(
      [...many, sample("data", { data: { worth: -2.5 } })],
      reward,
    );
    expect([...rewards]).toEqual([...many.keys(), -2.5]);
    expect(failures).toBe(0);
  });

  it.each(ways)("counts rewards that fail, by %s", async (_, reward, hangs) => {
    const given = samples("a", "throws", "NaN", hangs, "bb", "word", "huge", "function", "ccc");
    const options = { timeout: 200 };
    const zero = await scoreAll(given, reward, { ...options, onFailure: "zero" });
    expect(zero).toMatchObject({
      rewards: Float32Array.of(1, 0, 0, 0, 2, 0, 0, 0, 3),
      dropped: new Uint8Array(9),
      failures: 6,
      failure: fails(
        "REWARD_FAILED",
        /lesson "words", sample 1 \(prompt "say:", text "throws"\).*no such word/,
      ),
    });
    const drop = await scoreAll(given, reward, { ...options, onFailure: "drop" });
    expect(drop.dropped).toEqual(Uint8Array.of(0, 1, 1, 1, 0, 1, 1, 1, 0));
    expect(drop.failures).toBe(6);
  });

  it.each(ways)("names lesson and sample of a failure, by %s", async (_, reward, hangs) => {
    const fail = (text: string) => scoreAll(samples("a", text), reward, { timeout: 20 });
    await expect(fail("throws")).rejects.toThrow(
      fails("REWARD_FAILED", /"words", sample 1 .*text "throws".*no such word/),
    );
    await expect(fail("throws")).rejects.toMatchObject({ cause: { name: "TypeError" } });
    await expect(fail(hangs)).rejects.toThrow(
      fails("REWARD_FAILED", /"words", sample 1 .*no answer in \d+ ms/),
    );
    await expect(fail("NaN")).rejects.toThrow(fails("REWARD_INVALID", /"words", sample 1 .*gave NaN/));
    await expect(fail("word")).rejects.toThrow(
      fails("REWARD_INVALID", /gave "much", which is no finite number/),
    );
  });

  it.each(ways)("ends with the signal's reason, by %s", async (_, reward, hangs) => {
    const stop = new AbortController();
    const texts = Array.from({ length: 20 }, () => hangs);
    const work = scoreAll(samples(...texts), reward, { onFailure: "zero", signal: stop.signal });
    setImmediate(() => stop.abort(new Error("enough")));
    await expect(work).rejects.toThrow("enough");
    await expect(scoreAll(samples("a"), reward, { signal: stop.signal })).rejects.toThrow("enough");
  });
}
