import { EspalierError } from "../../core/index.ts";
import type { Drawing, Environment } from "../environments/environment.ts";
import { actionSize } from "../spaces/space.ts";
import { type ObservationMarks, type Replay, type ReplayRecorder, replayRecorder } from "./replay.ts";

/**
 * Draws a replay: the reset, and each step. If the environment ends the episode earlier than recorded, there are fewer
 * pictures: see `verifyReplay`.
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

/** The result of {@link verifyReplay}. */
export type ReplayVerdict =
  | { readonly fits: true }
  | {
      readonly fits: false;
      /** The first difference, in words. */
      readonly difference: string;
      /** The step at which it was found, 0 being the reset. */
      readonly step: number;
    };

/**
 * Plays a replay and compares observations, length, end and returns exactly. Describes the first difference.
 *
 * @example
 * ```ts
 * const verdict = verifyReplay(replay, makeEnvironment(replay.environment));
 * if (!verdict.fits) console.warn(verdict.difference);
 * ```
 */
export function verifyReplay(replay: Replay, environment: Environment): ReplayVerdict {
  const why = misfit(replay, environment);
  if (why !== undefined) return differs(0, why);
  let last = -1;
  let now: Replay;
  try {
    const recorder = play(replay, environment, () => {
      last++;
    });
    // With marks at the same observations as the recording.
    now = recorder.replay(replay.observations.every);
  } catch (error) {
    const said = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    return differs(last + 1, `step ${last + 1} fails: ${said}`);
  }
  const different = firstDifferent(replay.observations, now.observations, now.length + 1);
  if (different) return differs(different[0], `observations are others ${whence(different)}`);
  if (now.length < replay.length)
    return differs(now.length, `the episode is ${now.end} after ${now.length} of ${replay.length} steps`);
  if (now.end !== replay.end)
    return differs(
      now.length,
      `the episode ${endText(now)} after ${now.length} steps, and ${endText(replay)} then`,
    );
  for (const [i, then] of replay.returns.entries())
    if (now.returns[i] !== then) {
      const whose = replay.agents > 1 ? ` of agent ${i}` : "";
      return differs(now.length, `the return${whose} is ${now.returns[i]}, and was ${then}`);
    }
  return { fits: true };
}

const differs = (step: number, difference: string): ReplayVerdict => ({ fits: false, difference, step });

function whence([from, to]: readonly [number, number]): string {
  if (to === 0) return "from the reset on";
  return from === to ? `from step ${from} on` : `from one of the steps ${from} to ${to} on`;
}

const endText = ({ end }: Replay): string => (end === "cut" ? "goes on" : `is ${end}`);

/** The reason why an environment cannot play a replay; undefined if it can. */
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
 * Plays a replay's actions until they or the episode end, and calls `look` at the start and after each. Returns a
 * recording of the new episode.
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

/** The range of observations in which the first difference lies, 0 being the reset's; undefined if there is none. */
function firstDifferent(
  recorded: ObservationMarks,
  now: ObservationMarks,
  observations: number,
): readonly [from: number, to: number] | undefined {
  const { every } = recorded;
  const shared = Math.min(recorded.marks.length, now.marks.length);
  for (let i = 0; i < shared; i++)
    if (recorded.marks[i] !== now.marks[i]) return [i * every, (i + 1) * every - 1];
  if (recorded.marks.length !== now.marks.length || recorded.digest === now.digest) return undefined;
  return [shared * every, Math.max(shared * every, observations - 1)];
}
