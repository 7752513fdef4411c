import { EspalierError } from "../../core/index.ts";
import type { Drawing, Environment } from "../environments/environment.ts";
import { play } from "./play.ts";
import type { Replay } from "./replay.ts";

/**
 * The pictures of a replay: that of the reset, and one after each step. Where the environment ends the episode earlier
 * than it did, there are fewer: see `verifyReplay`.
 *
 * @example
 * ```ts
 * const frames = replayFrames(replay, makeEnvironment(replay.environment));
 * await writeFile("episode.gif", asGif(frames));
 * ```
 */
export function replayFrames(replay: Replay, environment: Environment): readonly Drawing[] {
  const draw = environment.render?.bind(environment);
  if (!draw)
    throw new EspalierError("REPLAY_NO_PICTURE", `${environment.name} draws no pictures`, {
      fix: "give the environment render(): Drawing",
    });
  const frames: Drawing[] = [];
  play(replay, environment, () => frames.push(draw()));
  return frames;
}
