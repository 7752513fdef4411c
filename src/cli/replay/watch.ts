import type { Surroundings } from "../runs/surroundings.ts";

const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
const TO_LINE_END = "\x1b[K";
const TO_SCREEN_END = "\x1b[J";

/** Pictures as text that are shown one after the other. */
export interface Film {
  readonly frames: readonly string[];
  readonly fps: number;
}

/** More a second than a terminal shows. */
const MOST_FPS = 60;

/**
 * Shows pictures in the same place of a terminal, at their pace. Gives false where Ctrl-C ended it; the terminal is left
 * with the last picture and its cursor, however it ends.
 */
export async function watch(
  { frames, fps }: Film,
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
