import { printable } from "../../core/index.ts";
import type { Replay, ReplayVerdict } from "../../rl/index.ts";

/** `CartPole-v1, seed 7: 500 steps, return 500, truncated`, and what else is known of it. */
export function replayText(replay: Replay): readonly string[] {
  const { environment, lesson, lessonName, seed, length, end, agents, about } = replay;
  const which = lessonName ?? (lesson > 0 ? `${lesson}` : undefined);
  const parts = [environment, ...(which === undefined ? [] : [`lesson ${which}`]), `seed ${seed}`];
  const went = [`${length} steps`, `return ${figure(replay.return)}`, end === "cut" ? "cut off" : end];
  const of = agents > 1 ? [`${agents} agents`] : [];
  const more = Object.entries(about).map(([name, value]) => `${name} ${value}`);
  return [
    `${parts.join(", ")}: ${[...went, ...of].join(", ")}`,
    ...(more.length > 0 ? [more.join(", ")] : []),
  ].map((line) => printable(line, 1000));
}

/** What a verification found, for people. */
export const verdictText = (verdict: ReplayVerdict): string =>
  verdict.fits
    ? "verified: it plays as it was recorded"
    : `this is not what was recorded: ${printable(verdict.difference)}. What is shown is what the environment does now`;

/** All that is known, for programs. */
export function replayJson(replay: Replay, verdict: ReplayVerdict, path: string): object {
  const { actions: _actions, observations, ...facts } = replay;
  return { path, ...facts, observations: observations.digest, verdict };
}

const figure = (number: number): string => String(Number(number.toPrecision(6)));
