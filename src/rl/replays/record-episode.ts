import type { Environment, Reset } from "../environments/environment.ts";
import type { SpaceValue } from "../spaces/space.ts";
import { type EpisodeStart, type RecordedAction, replayRecorder } from "./recorder.ts";
import type { Replay } from "./replay.ts";

/** Options of {@link recordEpisode}. */
export interface RecordOptions extends EpisodeStart {
  readonly environment: Environment;
  /** What to do next, given the observation as rows [agents, flat size], and as the environment gave it. */
  readonly act: (
    rows: Float32Array,
    now: Reset<SpaceValue | readonly SpaceValue[]>,
  ) => RecordedAction | Promise<RecordedAction>;
  /** After so many steps the recording is cut off. Default 100,000. */
  readonly maxSteps?: number;
}

/**
 * Plays one episode and records it.
 *
 * @example
 * ```ts
 * const replay = await recordEpisode({
 *   environment: makeEnvironment("CartPole-v1"),
 *   seed: 7,
 *   act: ([_position, _speed, angle]) => ((angle ?? 0) > 0 ? 1 : 0),
 * });
 * ```
 */
export async function recordEpisode(options: RecordOptions): Promise<Replay> {
  const { environment, act, maxSteps = 100_000, ...start } = options;
  const recorder = replayRecorder(environment, start);
  while (!recorder.over && recorder.length < maxSteps) {
    const action = act(recorder.rows, recorder.now);
    recorder.act(action instanceof Promise ? await action : action);
  }
  return recorder.replay();
}
