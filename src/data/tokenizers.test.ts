import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { EspalierError } from "../core/index.ts";
import { tokenFile } from "./array-files.ts";
import { textFile } from "./text-files.ts";
import {
  byteTokenizer,
  characterTokenizer,
  tokenizerFrom,
  tokenizerFromFile,
  writeTokens,
} from "./tokenizers.ts";

const fixture = (name: string): URL => new URL(`./fixtures/${name}`, import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "espalier-tokens-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a tokenizer", () => {
  it.each([
    ["of characters", async () => characterTokenizer("Grüße 🦊 abc")],
    ["of bytes", async () => byteTokenizer()],
    ["of a tokenizer.json", () => tokenizerFromFile(fixture("tokenizer.json"))],
  ] as const)("%s gives texts back, also made from its recipe", async (_name, make) => {
    const tokenizer = await make();
    const again = await tokenizerFrom(JSON.parse(JSON.stringify(tokenizer.recipe)));
    const tokens = tokenizer.encode("büßa 🦊");
    expect(again.encode("büßa 🦊")).toEqual(tokens);
    expect([again.decode(tokens), again.vocabulary]).toEqual(["büßa 🦊", tokenizer.vocabulary]);
    expect(() => tokenizer.decode([tokenizer.vocabulary])).toThrow(/TOKEN_UNKNOWN/);
  });

  it("of a file gives the tokens that Hugging Face's library gives", async () => {
    const tokenizer = await tokenizerFromFile(fixture("tokenizer.json"));
    const texts = JSON.parse(readFileSync(fixture("tokens.json"), "utf8")) as [string, number[]][];
    for (const [text, ids] of texts) {
      expect([...tokenizer.encode(text)]).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(text);
    }
    expect(tokenizer.vocabulary).toBe(285);
  });

  it("of bytes gives back a byte order mark", () => {
    const { encode, decode } = byteTokenizer();
    expect(decode(encode("\uFEFFa"))).toBe("\uFEFFa");
  });

  it("names what it does not know", async () => {
    expect(() => characterTokenizer("abc").encode("abx")).toThrow(/character 2, "x".*\[TOKEN_UNKNOWN\]/);
    expect(() => characterTokenizer("")).toThrow(/OPTION_INVALID/);
    const path = join(folder, "wrong.json");
    writeFileSync(path, "{}");
    const error = await tokenizerFromFile(path).catch((cause: EspalierError) => cause);
    expect((error as EspalierError).code).toBe("DATA_CORRUPT");
    await expect(tokenizerFrom({ kind: "other" })).rejects.toThrow(/DATA_INVALID/);
  });

  it("writes a text file as tokens, which come back as windows", async () => {
    const text = "one\ntwo\n\nthree ✓\n";
    writeFileSync(join(folder, "text.txt"), text);
    const path = join(folder, "text.tokens");
    const written = await writeTokens(path, textFile(join(folder, "text.txt")), byteTokenizer());
    expect(written).toEqual({ tokens: new TextEncoder().encode(text).length, dtype: "u16" });
    const data = tokenFile(path, { window: written.tokens - 1, order: "sequential" });
    const { x, y } = await data.get(0);
    expect(byteTokenizer().decode([...x, y.at(-1) ?? 0])).toBe(text);
    const many = { ...byteTokenizer(), vocabulary: 70_000 };
    expect((await writeTokens(path, ["a"], many, { end: "" })).dtype).toBe("u32");
    await expect(writeTokens(path, ["a"], many, { dtype: "u16" })).rejects.toThrow(/OPTION_INVALID/);
    const lying = { ...byteTokenizer(), encode: () => Int32Array.of(65_536 + 97) };
    await expect(writeTokens(path, ["a"], lying)).rejects.toMatchObject({
      code: "TOKEN_UNKNOWN",
      message: expect.stringContaining("65633"),
    });
    expect(readdirSync(folder).filter((name) => name.endsWith(".unfinished"))).toEqual([]);
    await expect(writeTokens(path, [{ text: "a" }] as never, byteTokenizer())).rejects.toThrow(/"text":"a"/);
    const nowhere = join(folder, "nowhere", "text.tokens");
    await expect(writeTokens(nowhere, ["a"], byteTokenizer())).rejects.toThrow(/FILE_FAILED/);
    // A rename would replace a directory or a device.
    await expect(writeTokens(folder, ["a"], byteTokenizer())).rejects.toThrow(/OPTION_INVALID/);
  });
});
