import { checkNames, checkSize } from "../../core/index.ts";
import type { EngineChoice } from "../../engine/index.ts";
import { Stream } from "../../random/index.ts";
import { type Environment, lessonOf } from "../environments/environment.ts";
import { checkSource, type EnvironmentSource, environmentMaker } from "../environments/registry.ts";
import { writeAction } from "../spaces/flat.ts";
import { sampleSpace } from "../spaces/sample.ts";
import { choiceGroups, type Space } from "../spaces/space.ts";
import type { EpisodeResult, RecordEpisode } from "./episode.ts";
import { checkFits } from "./fit.ts";
import type { Player, PlayerState } from "./player.ts";
import { PolicySteps } from "./policy-steps.ts";
import { Seat } from "./seat.ts";
import { firstEmpty, hasMasks, type Seating, seatingFor } from "./seating.ts";

/** Options of {@link playEpisodes}. */
export interface PlayOptions {
  /** What plays; `"random"` draws every action at random, each allowed one alike. */
  readonly player: Player | "random";
  /** States of the components that the player reads: of a snapshot, or of a checkpoint. None for `"random"`. */
  readonly state?: PlayerState;
  readonly environment: EnvironmentSource;
  readonly episodes: number;
  /** One of the environment's lessons, by name or index; the first unless told. */
  readonly lesson?: string | number;
  readonly seed: number;
  /** Whether the policy does what it finds best, or draws its actions. Default true. */
  readonly deterministic?: boolean;
  /** Where the policy runs. Default: where its parameters are. */
  readonly engine?: EngineChoice;
  /** How many environments play at once. Default 8, or as many as there are episodes. */
  readonly vectorCount?: number;
  /** Steps after which an episode is taken for one that never ends, which is an error. Default a million. */
  readonly maxLength?: number;
  /** Asked at the beginning of each episode: who gives a function gets a replay of it at its end. */
  readonly record?: RecordEpisode;
  /** Aborted, it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const kind = "playEpisodes";
const names = [
  ...["player", "state", "environment", "episodes", "lesson", "seed", "deterministic", "engine"],
  ...["vectorCount", "maxLength", "record", "signal"],
];
/** So many environments are computed together at least; where fewer play, the other rows are idle. */
const width = 8;

/**
 * Plays episodes to their end and tells how each went, in the order of their numbers. Which environment plays which
 * episodes is decided beforehand, and an environment that has played its own waits for the others: stopping at the
 * first so many that end would favour short ones.
 *
 * Episode k follows from `seed` and k alone: the environment's seed, and the draws of the policy where it draws. All
 * steps run through one program of 8 environments, however few play, so that results are the same bit for bit for
 * every `vectorCount` up to 8; with more the program is wider, and sums may round differently.
 *
 * @example
 * ```ts
 * const { components } = await task.snapshot(task.player.reads);
 * const episodes = await playEpisodes({
 *   player: task.player,
 *   state: components,
 *   environment: "CartPole-v1",
 *   episodes: 20,
 *   seed: 0,
 * });
 * ```
 */
export async function playEpisodes(options: PlayOptions): Promise<readonly EpisodeResult[]> {
  checkNames(kind, options, names);
  checkSource(kind, "environment", options.environment);
  const { player, state = {}, seed, deterministic = true, engine, record, signal } = options;
  const episodes = checkSize(kind, "episodes", options.episodes);
  const maxLength = checkSize(kind, "maxLength", options.maxLength ?? 1_000_000);
  const count = Math.min(episodes, checkSize(kind, "vectorCount", options.vectorCount ?? width));
  const make = await environmentMaker(options.environment);
  const environments: Environment[] = [];
  try {
    for (let i = 0; i < count; i++) environments.push(make());
    const [first] = environments as [Environment];
    if (player !== "random") checkFits(player.policy, first);
    const lesson = lessonOf(kind, first, options.lesson);
    const masks = player === "random" ? choiceGroups(first.actionSpace).length > 0 : hasMasks(player.policy);
    const seating = seatingFor(masks, first, Math.max(count, width));
    const policy =
      player === "random"
        ? randomSteps(first.actionSpace)
        : await PolicySteps.open({ player, state, rows: seating.rows, deterministic, engine });
    const results: EpisodeResult[] = [];
    const seats = environments.map(
      (environment, index) =>
        new Seat({
          ...{ environment, index, seed, lesson, seating, maxLength, record },
          episodes: Array.from(
            { length: Math.ceil((episodes - index) / count) },
            (_, i) => index + i * count,
          ),
          ended: (episode, result) => {
            results[episode] = result;
          },
        }),
    );
    while (seats.some(({ plays }) => plays)) {
      signal?.throwIfAborted();
      const actions = await policy.act(seating);
      for (const seat of seats) if (seat.plays) seat.step(actions);
    }
    return results;
  } finally {
    for (const environment of environments) environment.close?.();
  }
}

/** Acts at random: uniform over the choices that are allowed and over bounded numbers, by the keys of the rows. */
function randomSteps(space: Space): { act(shown: Seating): Promise<Float32Array> } {
  return {
    act: async ({ rows, actions, choices, groups, masks, keys }) => {
      const into = new Float32Array(rows * actions);
      for (let row = 0; row < rows; row++) {
        const mask = masks?.subarray(row * choices, (row + 1) * choices);
        // Rows whose episode is over may have nothing left to choose.
        if (mask && firstEmpty(mask, groups) >= 0) continue;
        const stream = new Stream("actions", keys.slice(row * 2, row * 2 + 2));
        writeAction(space, sampleSpace(space, stream, mask), into, row * actions);
      }
      return into;
    },
  };
}
