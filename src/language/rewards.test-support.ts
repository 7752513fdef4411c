import type { TextSample } from "./rewards.ts";

/** What a thread has seen: shows that one is used again. */
let calls = 0;

/** The length of a text; some texts make it fail, each in its own way. */
export function troubled({ text, data }: TextSample): unknown {
  calls++;
  if (text === "throws") throw new TypeError("no such word");
  if (text === "hangs") for (;;) if (calls < 0) break;
  if (text === "waits") return new Promise(() => undefined);
  if (text === "exits") process.exit(3);
  if (text === "breaks") return new Promise(() => queueMicrotask(() => JSON.parse("{")));
  if (text === "NaN") return Number.NaN;
  if (text === "huge") return 1e300;
  if (text === "word") return "much";
  if (text === "function") return () => 1;
  if (text === "calls") return calls;
  if (text === "data") return Promise.resolve((data as { readonly worth: number }).worth);
  return text.length;
}

export const notAFunction = 5;
