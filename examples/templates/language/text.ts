import { readFileSync } from "node:fs";
import { characterTokenizer, tokenWindows } from "espalier/data";

/** A text file as windows of tokens to train on, the last tenth of it to validate on, and the tokenizer. */
export function text({ file, window }: { readonly file: string; readonly window: number }) {
  const whole = readFileSync(file, "utf8");
  const tokenizer = characterTokenizer(whole);
  const tokens = tokenizer.encode(whole);
  const held = Math.floor(0.9 * tokens.length);
  return {
    tokenizer,
    train: tokenWindows(tokens.subarray(0, held), { window }),
    validation: tokenWindows(tokens.subarray(held), { window, order: "sequential" }),
  };
}
