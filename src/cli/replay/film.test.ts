import { describe, expect, it } from "vitest";
import type { asText } from "../../rl/index.ts";
import { captured } from "../runs/runs.test-support.ts";
import { printFrames, type Room, textFrames, watch } from "./film.ts";

const frames = ["a\nb", "c\nd", "e\nf"];

/** A terminal and a clock that does not wait; Ctrl-C comes during the given pause. */
function terminal({ interruptAt = -1 } = {}) {
  const out = captured({ isTTY: true, columns: 40 });
  const pauses: number[] = [];
  const controller = new AbortController();
  let stopped = 0;
  const around = {
    out,
    pause: async (milliseconds: number) => {
      pauses.push(milliseconds);
      if (pauses.length === interruptAt) controller.abort();
    },
    interrupts: () => ({ signal: controller.signal, stop: () => void stopped++ }),
  };
  return { around, out, pauses, stopped: () => stopped };
}

/** What a terminal shows at the end, and whether its cursor is there: the few control codes that are used. */
function screen(text: string): { readonly lines: readonly string[]; readonly cursor: boolean } {
  const lines: string[] = [""];
  let row = 0;
  let cursor = true;
  for (const [, code, plain] of text.matchAll(/(\r|\n|\p{Cc}\[[?\d]*[A-Za-z])|(\P{Cc}+)/gu)) {
    if (plain !== undefined) lines[row] = plain;
    else if (code === "\n") row++;
    else if (code === "\x1b[J") lines.length = row;
    else if (code === "\x1b[K") lines[row] ??= "";
    else if (code?.endsWith("A")) row -= Number(code.slice(2, -1));
    else if (code === "\x1b[?25l") cursor = false;
    else if (code === "\x1b[?25h") cursor = true;
  }
  return { lines, cursor };
}

describe("watching in a terminal", () => {
  it("shows pictures in the same place, at their pace", async () => {
    const { around, out, pauses, stopped } = terminal();
    expect(await watch({ frames, fps: 20 }, around)).toBe(true);
    expect(pauses).toEqual([50, 50]);
    expect(screen(out.text())).toEqual({ lines: ["e", "f"], cursor: true });
    for (const letter of "abcdef") expect(out.text()).toContain(letter);
    expect(stopped()).toBe(1);
  });

  it("leaves the terminal in order after Ctrl-C", async () => {
    const { around, out, stopped } = terminal({ interruptAt: 1 });
    expect(await watch({ frames, fps: 20 }, around)).toBe(false);
    expect(screen(out.text())).toEqual({ lines: ["a", "b"], cursor: true });
    expect(stopped()).toBe(1);
  });

  it("leaves pictures out that nobody could see, never the last", async () => {
    const { around, out, pauses } = terminal();
    const many = Array.from({ length: 10 }, (_, i) => `${i}`);
    await watch({ frames: many, fps: 240 }, around);
    expect(pauses.every((pause) => Math.abs(pause - 1000 / 60) < 1e-9)).toBe(true);
    expect(out.text().match(/\d(?=\p{Cc}\[K)/gu)).toEqual(["0", "4", "8", "9"]);
  });

  it("gives the cursor back where writing fails", async () => {
    const { around, out } = terminal();
    const write = out.write.bind(out);
    let calls = 0;
    const failing = {
      ...out,
      write: (text: string | Uint8Array) => (++calls === 2 ? Promise.reject(new Error("gone")) : write(text)),
    };
    await expect(watch({ frames, fps: 20 }, { ...around, out: failing })).rejects.toThrow("gone");
    expect(out.text()).toContain("\x1b[?25h");
  });
});

describe("printing pictures", () => {
  it("puts one below the other, without control codes", async () => {
    const out = captured();
    await printFrames(frames, { out });
    expect(out.text()).toBe("a\nb\n\nc\nd\n\ne\nf\n");
  });

  it("ends when nobody reads any more", async () => {
    const out = captured({ gone: AbortSignal.abort() });
    await printFrames(frames, { out });
    expect(out.text()).toBe("");
  });
});

describe("textFrames", () => {
  const drawing = { width: 4, height: 4, shapes: [], caption: "step 3 of very many\u001b[2J" };
  const seen: unknown[] = [];
  const textOf: typeof asText = ({ caption }, options) => {
    seen.push(options);
    return caption ?? "";
  };
  const asked = (columns: number | undefined, room: Partial<Room>) => {
    seen.length = 0;
    textFrames([drawing], columns, { columns: undefined, rows: undefined, color: false, ...room }, textOf);
    return seen[0];
  };

  it("is as wide as asked, as the terminal, or 80", () => {
    expect(asked(20, { columns: 60 })).toEqual({ columns: 20, color: false });
    expect(asked(undefined, { columns: 60 })).toEqual({ columns: 60, color: false });
    expect(asked(100, { columns: 60 })).toEqual({ columns: 60, color: false });
    expect(asked(100, {})).toEqual({ columns: 100, color: false });
    expect(asked(undefined, { color: true })).toEqual({ columns: 80, color: true });
  });

  it("leaves room for the caption and the cursor of a terminal", () => {
    expect(asked(undefined, { columns: 60, rows: 24 })).toMatchObject({ rows: 22 });
    expect(asked(undefined, { columns: 60, rows: 1 })).toMatchObject({ rows: 1 });
  });

  it("shortens captions to a line without control codes", () => {
    const room = { columns: undefined, rows: undefined, color: false };
    expect(textFrames([drawing], 12, room, textOf)).toEqual(["step 3 of..."]);
    expect(textFrames([drawing], 40, room, textOf)).toEqual(["step 3 of very many\\x1b[2J"]);
  });
});
