import { cut, printable } from "../../core/index.ts";
import type { asText, Drawing } from "../../rl/index.ts";
import type { Surroundings } from "../terminal.ts";

const COLUMNS = 80;

export interface Room {
  readonly columns: number | undefined;
  readonly rows: number | undefined;
  readonly color: boolean;
}

/**
 * Drawings as text, as wide as was asked for or as the terminal is, and never higher than it: what does not fit would be
 * scrolled away, and the next picture drawn in the wrong place.
 */
export function textFrames(
  drawings: readonly Drawing[],
  asked: number | undefined,
  { columns: most = Number.POSITIVE_INFINITY, rows, color }: Room,
  textOf: typeof asText,
): readonly string[] {
  const columns = Math.min(asked ?? (Number.isFinite(most) ? most : COLUMNS), most);
  // A line for the caption, and one for the cursor.
  const height = rows !== undefined && { rows: Math.max(1, rows - 2) };
  return drawings.map(({ caption, ...drawing }) => {
    const said = caption !== undefined && { caption: cut(printable(caption), columns, "...") };
    return textOf({ ...drawing, ...said }, { columns, ...height, color });
  });
}

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
const TO_LINE_END = "\x1b[K";
const TO_SCREEN_END = "\x1b[J";

/** More a second than a terminal shows. */
const MOST_FPS = 60;

/**
 * Shows pictures in the same place of a terminal, at their pace. Gives false where Ctrl-C ended it; the terminal is left
 * with the last picture and its cursor, however it ends.
 */
export async function watch(
  { frames, fps }: { readonly frames: readonly string[]; readonly fps: number },
  { out, pause, interrupts }: Pick<Surroundings, "out" | "pause" | "interrupts">,
): Promise<boolean> {
  const { signal, stop } = interrupts();
  const over = AbortSignal.any([signal, out.gone]);
  const stride = Math.max(1, Math.round(fps / MOST_FPS));
  let height = 0;
  try {
    await out.write(HIDE_CURSOR);
    for (const [i, frame] of frames.entries()) {
      if (over.aborted) break;
      const last = i === frames.length - 1;
      if (i % stride !== 0 && !last) continue;
      const lines = frame.split("\n");
      const back = height > 0 ? `\x1b[${height}A` : "";
      const text = lines.map((line) => `${line}${TO_LINE_END}\n`).join("");
      await out.write(`${back}\r${text}${TO_SCREEN_END}`);
      height = lines.length;
      if (!last) await pause((1000 * stride) / fps, over);
    }
  } finally {
    await out.write(SHOW_CURSOR);
    stop();
  }
  return !signal.aborted;
}

/** Prints pictures one below the other, as fast as they are read. */
export async function printFrames(
  frames: readonly string[],
  { out }: Pick<Surroundings, "out">,
): Promise<void> {
  for (const [i, frame] of frames.entries()) {
    if (out.gone.aborted) return;
    await out.write(`${i === 0 ? "" : "\n"}${frame}\n`);
  }
}
