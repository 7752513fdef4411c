import { EspalierError } from "../../core/index.ts";
import type { Environment } from "../environments/environment.ts";
import { actionSize } from "../spaces/sizes.ts";
import { type ReplayRecorder, replayRecorder } from "./recorder.ts";
import type { Replay } from "./replay.ts";

/** Why an environment cannot play a replay at all; undefined where it can. */
export function misfit(replay: Replay, environment: Environment): string | undefined {
  const { name, agents = 1, lessons } = environment;
  if (name !== replay.environment) return `it is of ${replay.environment}, and this is ${name}`;
  if (agents !== replay.agents) return `it has ${replay.agents} agents, and ${name} has ${agents}`;
  const size = replay.length * agents * actionSize(environment.actionSpace);
  if (replay.actions.length !== size)
    return `it has ${replay.actions.length} numbers for ${replay.length} actions, and ${name} takes ${size}`;
  const [then, now] = [replay.lessonName, lessons?.[replay.lesson]];
  if (then !== undefined && then !== now)
    return `its lesson ${replay.lesson} is "${then}", and that of ${name} is ${now === undefined ? "none" : `"${now}"`}`;
  return undefined;
}

/**
 * Plays a replay's actions, `look` being called at the start and after each, until they or the episode are at their
 * end. Gives the recording of what happened now.
 */
export function play(
  replay: Replay,
  environment: Environment,
  look: (recorder: ReplayRecorder) => void = () => undefined,
): ReplayRecorder {
  const why = misfit(replay, environment);
  if (why !== undefined)
    throw new EspalierError("REPLAY_ENVIRONMENT", `this replay cannot be played: ${why}`, {
      fix: "give the environment it was recorded in, by makeEnvironment(replay.environment)",
    });
  const { seed, lesson, length, actions } = replay;
  const recorder = replayRecorder(environment, { seed, lesson });
  const width = length === 0 ? 0 : actions.length / length;
  look(recorder);
  for (let i = 0; i < length && !recorder.over; i++) {
    recorder.act(actions.slice(i * width, (i + 1) * width));
    look(recorder);
  }
  return recorder;
}
