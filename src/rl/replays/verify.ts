import type { Environment } from "../environments/environment.ts";
import { firstDifferent } from "./observation-marks.ts";
import { misfit, play } from "./play.ts";
import type { Replay } from "./replay.ts";

/** Whether an environment still gives the episode that a replay recorded. */
export type ReplayVerdict =
  | { readonly fits: true }
  | {
      readonly fits: false;
      /** The first difference, in words. */
      readonly difference: string;
      /** The step by which it is there, 0 being the reset. */
      readonly step: number;
    };

/**
 * Plays a replay and compares observations, length, end and returns, all exactly. Names the first difference.
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
    // With as many observations between its marks as the recording has.
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
