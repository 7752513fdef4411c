import {
  checkOptions,
  EspalierError,
  node,
  type Options,
  option,
  required,
  shown,
} from "../../core/index.ts";
import { checkResult, type Environment, type Reset, type Step } from "../environments/environment.ts";
import {
  checkSource,
  type EnvironmentSource,
  environmentMaker,
  isEnvironment,
} from "../environments/registry.ts";
import { readAction, writeAction, writeFlat } from "../spaces/flat.ts";
import { actionSize, flatSize, type Space, type SpaceValue } from "../spaces/space.ts";

/** How a recorded episode ended: terminated, truncated by the environment, or cut because the recording ended. */
export type ReplayEnd = "terminated" | "truncated" | "cut";

/**
 * A recorded episode: seed and actions, with which it can be played again, and digests to verify it. An environment that
 * gives the same episode for the same seed and actions gives the same pictures.
 */
export interface Replay {
  /** Its registered name. */
  readonly environment: string;
  /** Index of the lesson, and its name. */
  readonly lesson: number;
  readonly lessonName?: string | undefined;
  readonly seed: number;
  readonly agents: number;
  /** Steps. */
  readonly length: number;
  /** `[length, agents, action size]`: whole numbers where the space has whole numbers. */
  readonly actions: Float32Array;
  /** The sum of rewards of every agent, and their mean. */
  readonly returns: readonly number[];
  readonly return: number;
  readonly end: ReplayEnd;
  readonly observations: ObservationMarks;
  /** Any further facts: the step of training, the checkpoint. */
  readonly about: Readonly<Record<string, string | number | boolean>>;
}

/** Digests of the observations. */
export interface ObservationMarks {
  /** The sha256 of all of them, the first included, as flat rows of 32-bit floats. */
  readonly digest: string;
  /** After every `every` observations, the first four bytes of the sha256 so far: they locate a difference. */
  readonly every: number;
  readonly marks: Uint32Array;
}

/** An action as `step` takes it, or as a row of numbers of all agents. */
export type RecordedAction = SpaceValue | readonly SpaceValue[];

/** The start of an episode. */
export interface EpisodeStart {
  readonly seed: number;
  /** Index of the lesson. Default: 0. */
  readonly lesson?: number | undefined;
  readonly about?: Replay["about"] | undefined;
}

/** Plays an episode and records it. */
export interface ReplayRecorder {
  /** The result of the reset or the last action. */
  readonly now: Reset<SpaceValue | readonly SpaceValue[]>;
  /** Its observation as flat rows [agents, flat size], always in the same array. */
  readonly rows: Float32Array;
  /** True if the episode is over. */
  readonly over: boolean;
  readonly length: number;
  act(action: RecordedAction): Step<SpaceValue | readonly SpaceValue[], number | readonly number[]>;
  /** The episode up to here, with a mark after every `every` observations. Default: at most 64 marks. */
  replay(every?: number): Replay;
}

/**
 * Begins an episode that is recorded, for programs that choose actions one by one. Actions are rounded to 32-bit floats,
 * as they are stored, before the environment gets them.
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
      fix: "give a whole number: the episode cannot be played again without it",
    });
  const size = actionSize(actionSpace);
  const observations = new ObservationHash(observationSpace, agents);
  const returns = Array<number>(agents).fill(0);
  const actions: Float32Array[] = [];
  const listed = <T>(value: T | readonly T[]): readonly T[] =>
    agents > 1 ? (value as readonly T[]) : [value as T];
  let end: Replay["end"] = "cut";
  let now: ReplayRecorder["now"] = checkResult(environment, "reset", environment.reset({ seed, lesson }));
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
      const step = checkResult(environment, "step", taken);
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
        seed,
        agents,
        length: actions.length,
        actions: all,
        end,
        about,
        returns: [...returns],
        return: returns.reduce((sum, each) => sum + each, 0) / agents,
        observations: observations.marks(every),
      };
    },
  };
}

type ChooseAction = (
  rows: Float32Array,
  now: ReplayRecorder["now"],
) => RecordedAction | Promise<RecordedAction>;

const recordTable = {
  /** An environment; or its source, of which one is made and closed afterwards. */
  env: required(option.anything<Environment | EnvironmentSource>("an environment")),
  /** Chooses an action from the observation as rows [agents, flat size], or as the environment returned it. */
  act: required(option.function<ChooseAction>("a function of an observation that gives an action", {})),
  /** Checked by `replayRecorder`. */
  seed: required(option.anything<number>("a whole number")),
  /** Index of the lesson. Default: 0. */
  lesson: option.integer({ min: 0 }),
  about: option.object<Replay["about"]>("an object of facts", [], {}),
  /** Steps after which the recording is cut. Default: 100,000. */
  maxSteps: option.number({ min: 0, infinite: true }),
};

/** Options of {@link recordEpisode}. */
export interface RecordOptions extends Options<typeof recordTable> {}

/**
 * Plays one episode and records it.
 *
 * @example
 * ```ts
 * const replay = await recordEpisode({
 *   env: "CartPole-v1",
 *   seed: 7,
 *   act: ([_position, _speed, angle]) => ((angle ?? 0) > 0 ? 1 : 0),
 * });
 * ```
 */
export async function recordEpisode(options: RecordOptions): Promise<Replay> {
  checkOptions("recordEpisode", options, recordTable);
  const { env, act, maxSteps = 100_000, ...start } = options;
  if (isEnvironment(env)) return record(env);
  checkSource("recordEpisode", "env", env);
  const made = (await environmentMaker(env))();
  try {
    return await record(made);
  } finally {
    made.close?.();
  }

  async function record(environment: Environment): Promise<Replay> {
    const recorder = replayRecorder(environment, start);
    while (!recorder.over && recorder.length < maxSteps) {
      const action = act(recorder.rows, recorder.now);
      recorder.act(action instanceof Promise ? await action : action);
    }
    return recorder.replay();
  }
}

/** Most marks in a replay: 256 bytes. */
const MOST = 64;

/** Hashes observations one after the other. */
class ObservationHash {
  readonly #hash = node.crypto.createHash("sha256");
  readonly #space: Space;
  /** The newest observation as rows [agents, flat size]. */
  readonly rows: Float32Array;
  readonly #bytes: Uint8Array;
  readonly #each: number[] = [];

  constructor(space: Space, agents: number) {
    this.#space = space;
    this.rows = new Float32Array(agents * flatSize(space));
    this.#bytes = new Uint8Array(this.rows.buffer);
  }

  add(observations: readonly SpaceValue[]): void {
    let at = 0;
    for (const observation of observations) at = writeFlat(this.#space, observation, this.rows, at);
    // A negative zero is a zero.
    for (let i = 0; i < this.rows.length; i++) if (this.rows[i] === 0) this.rows[i] = 0;
    this.#hash.update(this.#bytes);
    this.#each.push(this.#hash.copy().digest().readUInt32LE(0));
  }

  /** The digests, with a mark after every `every` observations. */
  marks(every = Math.max(1, Math.ceil(this.#each.length / MOST))): ObservationMarks {
    const marks = Uint32Array.from(this.#each.filter((_, i) => (i + 1) % every === 0));
    return { digest: this.#hash.copy().digest("hex"), every, marks };
  }
}
