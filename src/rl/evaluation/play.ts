import {
  checkOptions,
  EspalierError,
  hasMethods,
  nextTurn,
  type Option,
  type Options,
  option,
  required,
} from "../../core/index.ts";
import { type EngineChoice, hostRandom } from "../../engine/index.ts";
import { Stream } from "../../random/index.ts";
import { type Environment, lessonOf } from "../environments/environment.ts";
import { checkSource, environmentMaker } from "../environments/registry.ts";
import { wrap } from "../environments/wrappers/wrap.ts";
import { lesson, source } from "../option-rows.ts";
import type { Policy } from "../policies/policy.ts";
import { type Replay, type ReplayRecorder, replayRecorder } from "../replays/replay.ts";
import { writeAction } from "../spaces/flat.ts";
import { sampleSpace } from "../spaces/sample.ts";
import { actionSize, choiceGroups, flatSize, leavesOf, type Space } from "../spaces/space.ts";
import { makeEnvironments } from "../vector/make-environments.ts";
import { type Memory, ownMemory, sizesOf } from "../vector/memory.ts";
import { EnvironmentRows } from "../vector/rows.ts";
import type { Player, PlayerState } from "./player.ts";
import { hasMasks, type PolicyInputs, policySteps } from "./policy-steps.ts";

// Evaluation: how good a policy is, found by playing episodes.
//
//   evaluationHook          when: inline, in a thread, or in other processes           evaluation-hook.ts
//   └─ evaluateSuites       plays every suite and scores it                            suites.ts
//      └─ playEpisodes      this file
//           make `vectorCount` environments; episode k belongs to environment k % vectorCount
//           reset each environment for its first episode
//           while an episode is under way:
//             actions = one call of the policy for the rows of all environments        policy-steps.ts
//             for each environment with an episode under way:
//               step it on its rows, as vectors do                                     vector/rows.ts
//               its episode is over: keep the result, reset it for its next episode
//   └─ LocalEvaluations     results to slots, metrics, the stats store and replays     local.ts, publish.ts

/** The result of an episode. */
export interface EpisodeResult {
  /** The sum of its rewards; with several agents the mean of their sums. */
  readonly return: number;
  readonly length: number;
  /** False if it was truncated. */
  readonly terminated: boolean;
  /** Index of its lesson. */
  readonly lesson: number;
  /** The seed its environment was reset with. */
  readonly seed: number;
}

/** An episode that begins. */
export interface PlayedEpisode {
  /** Its number among those that are played, from 0. */
  readonly episode: number;
  readonly environment: string;
  readonly seed: number;
  readonly lesson: number;
}

/** Called at the beginning of an episode. If it returns a function, that gets a replay of the episode at its end. */
export type RecordEpisode = (start: PlayedEpisode) => ((replay: Replay) => void) | undefined;

/** Rows of options that an agent's evaluations have, too. */
export const episodeRows = {
  /** One of the environment's lessons, by name or index. Default: 0. */
  lesson,
  /** The policy takes its most likely action, instead of drawing one. Default: true. */
  deterministic: option.flag({ default: true }),
  /** Steps after which an episode counts as one that never ends, which is an error. Default: 1,000,000. */
  maxLength: option.integer({ min: 1, default: 1_000_000 }),
  /** Aborted, it rejects with the signal's reason. */
  signal: option.object<AbortSignal>("an AbortSignal", [], {}),
};

const optionTable = {
  ...episodeRows,
  /** The policy that plays; `"random"` draws every action at random, each allowed one alike. */
  player: required(
    option.made<Player | "random">(
      'a task\'s player, task.player, or "random"',
      (value) => value === "random" || hasMethods((value as Partial<Player> | null)?.policy, ["step"]),
      {},
    ),
  ),
  /** States of the components that the player reads: of a snapshot, or of a checkpoint. None for `"random"`. */
  state: option.object<PlayerState>("a snapshot's components", [], {}),
  env: required(source),
  episodes: option.integer({ min: 1, required: true }),
  seed: option.integer({ required: true }),
  /** Where the policy runs. Default: where its parameters are. */
  engine: option.text({}) as Option<EngineChoice>,
  /** How many environments play at once. Default: 8, or as many as there are episodes. */
  vectorCount: option.integer({ min: 1 }),
  /** Called at the beginning of each episode. If it returns a function, that gets a replay of the episode. */
  record: option.function<RecordEpisode>("a function", {}),
};

/** Options of {@link playEpisodes}. */
export interface PlayOptions extends Options<typeof optionTable> {}

/** Rows are computed for at least this many environments; where fewer play, the other rows are idle. */
const width = 8;

/** An episode under way. */
interface Episode {
  readonly number: number;
  readonly keys: ReturnType<typeof episodeKeys>;
}

/**
 * Plays episodes to their end and returns their results, in the order of their numbers. The environments' episodes are
 * assigned beforehand, and an environment that has played its own waits for the others: stopping at the first ones that
 * end would favour short episodes.
 *
 * Episode k follows from `seed` and k alone: the environment's seed, and the draws of the policy if it draws. All
 * steps run through one program of 8 environments, however few play, so that results are the same bit for bit for
 * every `vectorCount` up to 8; with more the program is wider, and sums may round differently.
 *
 * @example
 * ```ts
 * const { components } = await task.snapshot(task.player.reads);
 * const episodes = await playEpisodes({
 *   player: task.player,
 *   state: components,
 *   env: "CartPole-v1",
 *   episodes: 20,
 *   seed: 0,
 * });
 * ```
 */
export async function playEpisodes(options: PlayOptions): Promise<readonly EpisodeResult[]> {
  const kind = "playEpisodes";
  checkOptions(kind, options, optionTable);
  checkSource(kind, "env", options.env);
  const { player, state = {}, episodes, seed, deterministic = true, engine, record, signal } = options;
  const maxLength = options.maxLength ?? optionTable.maxLength.default;
  const count = Math.min(episodes, options.vectorCount ?? width);
  const make = await environmentMaker(options.env);
  const { description, environments } = makeEnvironments(make, 0, count, (space) =>
    player === "random" ? choiceGroups(space).length > 0 : hasMasks(player.policy),
  );
  try {
    if (player !== "random") checkFits(player.policy, description);
    const { agents, name, actionSpace } = description;
    const memory = ownMemory(sizesOf(description, Math.max(count, width)));
    memory.resets.fill(1);
    memory.actionMasks.fill(1);
    memory.nextLessons.fill(lessonOf(kind, description, options.lesson));
    const keys = new Uint32Array(2 * memory.rewards.length);
    const masks = description.masked ? memory.actionMasks : undefined;
    const inputs: PolicyInputs = { observations: memory.observations, resets: memory.resets, masks, keys };
    const policy =
      player === "random"
        ? randomPolicy(actionSpace, count * agents)
        : await policySteps({ player, state, rows: memory.rewards.length, deterministic, engine });

    /** By environment; undefined if it has no episode left. */
    const playing: (Episode | undefined)[] = [];
    const rows = new EnvironmentRows({
      description,
      memory,
      environments: record
        ? environments.map((each, i) => recorded(each, record, () => playing[i]?.number ?? 0))
        : environments,
      make,
      episode: (i) => playing[i]?.number ?? 0,
    });
    const begin = (i: number, number: number): void => {
      const episode = { number, keys: episodeKeys(seed, number) };
      playing[i] = number < episodes ? episode : undefined;
      if (number >= episodes) return;
      memory.fresh[i] = 1;
      memory.seeds[2 * i] = episode.keys.seed;
      rows.reset(i);
      drawKeys(i, episode);
    };
    const drawKeys = (i: number, episode: Episode): void => {
      for (let agent = 0; agent < agents; agent++)
        keys.set(episode.keys.action(memory.lengths[i] as number, agent), 2 * (i * agents + agent));
    };
    const results: EpisodeResult[] = [];
    for (let i = 0; i < count; i++) begin(i, i);
    let turn = performance.now();
    while (playing.some((episode) => episode !== undefined)) {
      // Timers and signals of the process have their turns: a policy on wasm leaves them none.
      if (performance.now() - turn > 100) {
        await new Promise<void>((resolve) => nextTurn(resolve));
        turn = performance.now();
      }
      signal?.throwIfAborted();
      const actions = await policy.act(inputs);
      for (let i = 0; i < count; i++) {
        const episode = playing[i];
        if (!episode) continue;
        rows.act(i, actions);
        if (memory.terminated[i * agents] || memory.truncated[i * agents]) {
          results[episode.number] = resultOf(memory, i, agents, episode.keys.seed);
          begin(i, episode.number + count);
        } else if ((memory.lengths[i] as number) >= maxLength)
          throw new EspalierError(
            "ENVIRONMENT_HANGS",
            `${name} (environment ${i}, step ${memory.lengths[i]} of evaluation episode ${episode.number}): the episode does not end`,
            { fix: "give the environment a time limit, or raise maxLength" },
          );
        else drawKeys(i, episode);
      }
    }
    return results;
  } finally {
    for (const environment of environments) environment.close?.();
  }
}

function resultOf(memory: Memory, i: number, agents: number, seed: number): EpisodeResult {
  const returns = memory.returns.subarray(i * agents, (i + 1) * agents);
  return {
    return: returns.reduce((sum, each) => sum + each, 0) / agents,
    length: memory.lengths[i] as number,
    terminated: memory.terminated[i * agents] === 1,
    lesson: memory.nextLessons[i] as number,
    seed,
  };
}

/** The random numbers of an episode, which follow from the seed and the episode's number alone. */
function episodeKeys(seed: number, episode: number) {
  const { hostBits, hostFoldIn, hostKey } = hostRandom;
  const root = hostFoldIn(hostKey(seed), episode);
  const actions = hostFoldIn(root, 1);
  return {
    /** The seed of the environment's reset: below 2^31, as every environment takes it. */
    seed: (hostBits(hostFoldIn(root, 0), 1)[0] as number) >>> 1,
    /** The two words from which an agent's action at a step is drawn. */
    action: (step: number, agent: number) => hostFoldIn(hostFoldIn(actions, step), agent),
  };
}

/** Acts at random: uniform over allowed choices and bounded numbers, drawn from the keys of the rows. */
function randomPolicy(space: Space, rows: number): { act(inputs: PolicyInputs): Promise<Float32Array> } {
  const size = actionSize(space);
  return {
    act: async ({ masks, keys }) => {
      const actions = new Float32Array(rows * size);
      const choices = masks ? masks.length / (keys.length / 2) : 0;
      for (let row = 0; row < rows; row++) {
        const mask = masks?.subarray(row * choices, (row + 1) * choices);
        const stream = new Stream("actions", keys.slice(row * 2, row * 2 + 2));
        writeAction(space, sampleSpace(space, stream, mask), actions, row * size);
      }
      return actions;
    },
  };
}

/** An environment that records the episodes for which `record` returns a function. `episode` is the present one. */
function recorded(inner: Environment, record: RecordEpisode, episode: () => number): Environment {
  let recorder: ReplayRecorder | undefined;
  let done: ((replay: Replay) => void) | undefined;
  return {
    ...wrap(inner, {}),
    reset({ seed = 0, lesson = 0 } = {}) {
      done = record({ episode: episode(), environment: inner.name, seed, lesson });
      recorder = done && replayRecorder(inner, { seed, lesson });
      return recorder?.now ?? inner.reset({ seed, lesson });
    },
    step(action) {
      if (!recorder) return inner.step(action);
      const step = recorder.act(action);
      if (recorder.over) done?.(recorder.replay());
      return step;
    },
  };
}

/** Refuses an environment whose spaces are not those that the policy was made for. Bounds may differ. */
function checkFits(
  policy: Policy,
  { name, observationSpace, actionSpace }: Pick<Environment, "name" | "observationSpace" | "actionSpace">,
): void {
  const differences = [
    ["observations", policy.observationSpace, observationSpace] as const,
    ["actions", policy.actionSpace, actionSpace] as const,
  ]
    .filter(([, made, given]) => canonical(made) !== canonical(given))
    .map(
      ([what, made, given]) =>
        `its ${what} are ${spaceText(given)}, and the policy was made for ${spaceText(made)}`,
    );
  if (differences.length === 0) return;
  throw new EspalierError("SPACES_MISMATCH", `the policy cannot play ${name}: ${differences.join("; ")}`, {
    fix: "evaluate on the environment that it was trained on, or wrap this one so that the spaces are the same",
  });
}

/** A space without its bounds. */
const canonical = (space: Space): string =>
  JSON.stringify(
    leavesOf(space).map(({ space: part, path }) => [
      path,
      part.kind,
      part.kind === "box" ? part.shape : choiceGroups(part),
    ]),
  );

function spaceText(space: Space): string {
  switch (space.kind) {
    case "discrete":
      return `one of ${space.n} choices`;
    case "multiDiscrete":
      return `choices of ${space.choices.join(", ")}`;
    case "box":
      return `a box of [${space.shape.join(", ")}]`;
    case "dict":
      return `a dict of ${Object.keys(space.spaces).sort().join(", ")} (${flatSize(space)} numbers)`;
  }
}
