import { setTimeout as pause } from "node:timers/promises";
import { asText, type Drawing } from "espalier/rl";

/** Plays pictures in the same place of a terminal, or prints a few of them where there is none. */
export async function show(frames: readonly Drawing[], out = process.stdout): Promise<void> {
  const columns = Math.min(out.columns || 72, 72);
  const text = (frame: Drawing): string => asText(frame, { columns, rows: 12, color: out.isTTY === true });
  if (!out.isTTY) {
    const few = [0, Math.floor(frames.length / 2), frames.length - 1].map((i) => frames[i] as Drawing);
    out.write(`${few.map(text).join("\n\n")}\n`);
    return;
  }
  const height = text(frames[0] as Drawing).split("\n").length;
  out.write("\x1b[?25l");
  try {
    for (const [i, frame] of frames.entries()) {
      out.write(`${i > 0 ? `\x1b[${height}A` : ""}${text(frame).replaceAll("\n", "\x1b[K\n")}\x1b[K\n`);
      await pause(10);
    }
  } finally {
    out.write("\x1b[?25h");
  }
}
