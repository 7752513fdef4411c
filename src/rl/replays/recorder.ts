import { EspalierError, shown } from "../../core/index.ts";
import type { Environment, Reset, Step } from "../environments/environment.ts";
import { checkGiven } from "../environments/given.ts";
import { readAction, writeAction } from "../spaces/flat.ts";
import { actionSize } from "../spaces/sizes.ts";
import type { SpaceValue } from "../spaces/space.ts";
import { ObservationHash } from "./observation-marks.ts";
import type { Replay } from "./replay.ts";

/** An action as `step` takes it, or as a row of numbers: that of one agent after that of the other. */
export type RecordedAction = SpaceValue | readonly SpaceValue[];

/** How an episode began. */
export interface EpisodeStart {
  readonly seed: number;
  /** By index. Default the first. */
  readonly lesson?: number | undefined;
  readonly about?: Replay["about"] | undefined;
}

/** Plays an episode and writes down what it takes to play it again. */
export interface ReplayRecorder {
  /** What the reset or the last action led to. */
  readonly now: Reset<SpaceValue | readonly SpaceValue[]>;
  /** The observation of that as flat rows [agents, flat size]. The same array all the time. */
  readonly rows: Float32Array;
  /** Whether the episode is over. */
  readonly over: boolean;
  readonly length: number;
  act(action: RecordedAction): Step<SpaceValue | readonly SpaceValue[], number | readonly number[]>;
  /** The episode up to here. Marks of observations are at most 64, unless it is said after how many each comes. */
  replay(every?: number): Replay;
}

/**
 * Begins an episode that is recorded, for whoever chooses actions one by one. Actions are rounded to 32-bit floats, as
 * they are filed, before the environment gets them.
 *
 * @example
 * ```ts
 * const recorder = replayRecorder(environment, { seed: 7 });
 * while (!recorder.over) recorder.act(choose(recorder.rows, recorder.now.actionMask));
 * const { uri } = await writeReplay("replays", recorder.replay());
 * ```
 */
export function replayRecorder(environment: Environment, start: EpisodeStart): ReplayRecorder {
  const { actionSpace, observationSpace, agents = 1 } = environment;
  const { seed, lesson = 0, about = {} } = start;
  if (!Number.isSafeInteger(seed))
    throw new EspalierError("OPTION_INVALID", `a replay needs a seed, and this is ${shown(seed)}`, {
      fix: "give a whole number: without it nobody could play the episode again",
    });
  const size = actionSize(actionSpace);
  const observations = new ObservationHash(observationSpace, agents);
  const returns = Array<number>(agents).fill(0);
  const actions: Float32Array[] = [];
  const listed = <T>(value: T | readonly T[]): readonly T[] =>
    agents > 1 ? (value as readonly T[]) : [value as T];
  let end: Replay["end"] = "cut";
  let now: ReplayRecorder["now"] = checkGiven(environment, "reset", environment.reset({ seed, lesson }));
  observations.add(listed(now.observation));

  const rowOf = (action: RecordedAction): Float32Array => {
    if (action instanceof Float32Array && action.length === agents * size) return action.slice();
    const row = new Float32Array(agents * size);
    let at = 0;
    for (const each of listed(action as SpaceValue)) at = writeAction(actionSpace, each, row, at);
    return row;
  };

  return {
    get now() {
      return now;
    },
    rows: observations.rows,
    get over() {
      return end !== "cut";
    },
    get length() {
      return actions.length;
    },
    act(action) {
      if (end !== "cut")
        throw new EspalierError("REPLAY_OVER", `the recorded episode of ${environment.name} is ${end}`, {
          fix: "begin another by replayRecorder",
        });
      const row = rowOf(action);
      const each = returns.map((_, i) => readAction(actionSpace, row, i * size) as SpaceValue);
      const taken = environment.step(agents > 1 ? each : (each[0] as SpaceValue));
      const step = checkGiven(environment, "step", taken);
      listed(step.reward).forEach((reward, i) => {
        if (!Number.isFinite(reward))
          throw new EspalierError(
            "ENVIRONMENT_INVALID",
            `${environment.name}: the reward of step ${actions.length + 1} is ${shown(reward)}`,
            { fix: "let step give a number as reward" },
          );
        returns[i] = (returns[i] as number) + reward;
      });
      actions.push(row);
      observations.add(listed(step.observation));
      if (step.terminated) end = "terminated";
      else if (step.truncated) end = "truncated";
      now = step;
      return step;
    },
    replay(every) {
      const all = new Float32Array(actions.length * agents * size);
      actions.forEach((row, i) => {
        all.set(row, i * row.length);
      });
      const lessonName = environment.lessons?.[lesson];
      return {
        environment: environment.name,
        lesson,
        ...(lessonName !== undefined && { lessonName }),
        ...{ seed, agents, length: actions.length, actions: all, end, about },
        returns: [...returns],
        return: returns.reduce((sum, each) => sum + each, 0) / agents,
        observations: observations.marks(every),
      };
    },
  };
}
