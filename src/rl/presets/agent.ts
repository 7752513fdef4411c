import { checkNames, checkSize, checkWord, EspalierError, isPlainObject } from "../../core/index.ts";
import type { EngineChoice } from "../../engine/index.ts";
import { withProgress } from "../../metrics/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { isRamp } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import {
  type Task,
  Trainer,
  type TrainerHook,
  type TrainerOptions,
  type TrainingConfig,
  type TrainingResult,
} from "../../trainer/index.ts";
import { type Actor, type ActorOptions, actorNames, openActor } from "../acting/actor.ts";
import { checkSource, type EnvironmentSource } from "../environments/registry.ts";
import { type EpisodeResult, playEpisodes } from "../evaluation/play.ts";
import type { Player } from "../evaluation/player.ts";
import { scoresOf } from "../evaluation/suites.ts";
import { checkFlag } from "../on-policy/check-numbers.ts";
import type { SpaceValue } from "../spaces/space.ts";
import { checkHooks, checkTraining } from "./check-training.ts";
import { rewinder } from "./rewind.ts";

/** What an agent's kinds of training have in common. */
export interface AgentTask extends Task {
  readonly player: Player;
  /** Agent steps in an epoch. */
  readonly samplesPerEpoch: number;
  close?(): void;
}

/** Options of an agent's `train`. */
export interface AgentTraining<T extends AgentTask = AgentTask> {
  /** Agent steps of the whole training, those before a resume included. Default: the settings' own. */
  readonly steps?: number;
  /** Hooks, or a function that makes them for the run's task: evaluation needs its `player`. */
  readonly hooks?: readonly TrainerHook[] | ((task: T) => readonly TrainerHook[]);
  /** Everything else about the run; `epochs` follows from the steps. */
  readonly config?: Partial<Omit<TrainingConfig, "epochs">>;
  readonly warn?: TrainerOptions["warn"];
  /** Whether its progress is shown. Default: on a terminal, unless a hook logs metrics. */
  readonly progress?: boolean;
}

/** Options of an agent's `evaluate`. */
export interface AgentEvaluation {
  /** Actions are drawn at random instead of by the policy, each allowed one alike: what chance scores. Default: false. */
  readonly random?: boolean;
  /** Default 20. */
  readonly episodes?: number;
  /** Default 0. */
  readonly seed?: number;
  readonly deterministic?: boolean;
  /** Another environment. Default: the agent's. */
  readonly env?: EnvironmentSource;
  /** Default: the lesson that the agent trains on, else the first. */
  readonly lesson?: string | number;
  /** Steps after which an episode is taken for one that never ends, which is an error. Default a million. */
  readonly maxLength?: number;
  /** Aborted, it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const evaluationNames = [
  ...["random", "episodes", "seed", "deterministic", "env", "lesson", "maxLength", "signal"],
];

/** What an evaluation found. */
export interface AgentScore {
  /** Mean over the episodes. */
  readonly return: number;
  readonly length: number;
  readonly returns: readonly number[];
  readonly scores: Readonly<Record<string, number>>;
  readonly episodes: readonly EpisodeResult[];
}

/** Something that learns to act in an environment. */
export interface Agent<T extends AgentTask = AgentTask, S = unknown> {
  readonly settings: S;
  /** A new run: from the beginning, unless a checkpoint hook resumes one. One at a time. */
  train(training?: AgentTraining<T>): Promise<TrainingResult>;
  /** What a `Trainer` needs for such a run, made anew: for commands that train by themselves. */
  setup(training?: AgentTraining<T>): TrainerOptions;
  /** Plays episodes with the policy as it is now: before any training, with the untrained one. */
  evaluate(evaluation?: AgentEvaluation): Promise<AgentScore>;
  /** The policy as it is now, to act with; training that goes on does not change it. */
  actor<A extends SpaceValue = SpaceValue>(options?: ActorOptions): Promise<Actor<A>>;
  /** The task of the last run. */
  readonly task: T;
  /** Ends threads that the environments have. */
  close(): void;
  /** What `JSON.stringify` shows: which algorithm, where, and with which settings. */
  toJSON(): { readonly algorithm: string; readonly environment: Json; readonly settings: Json };
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

export interface AgentSpec<T extends AgentTask, S> {
  readonly kind: string;
  readonly env: EnvironmentSource;
  readonly settings: S;
  readonly totalSteps: number;
  readonly engine?: EngineChoice | undefined;
  readonly seed?: number | undefined;
  readonly onNonFinite?: TrainingConfig["onNonFinite"] | undefined;
  readonly lesson?: string | number | undefined;
  /** Refuses so many agent steps of a training. */
  readonly checkSteps?: (steps: number) => void;
  /** Things from outside that remember: every run begins with them as they were when the agent was made. */
  readonly remembers?: readonly Stateful[];
  /** Hooks that come with it. */
  readonly hooks?: (task: T) => readonly TrainerHook[];
  /** Makes the environments of a run. How many agent steps an epoch has is known then, and with it how many epochs. */
  readonly begin: () => {
    readonly samplesPerEpoch: number;
    readonly task: (epochs: number) => T;
  };
}

/** Puts an agent together: a task is made for each run, when it is known how long that is. */
export function agentOf<T extends AgentTask, S>(spec: AgentSpec<T, S>): Agent<T, S> {
  const { kind, settings, env, engine } = spec;
  checkSource(kind, "env", env);
  const { onNonFinite = "stop" } = spec;
  checkWord(kind, "onNonFinite", onNonFinite, ["stop", "warn", "ignore"]);
  if (spec.seed !== undefined) new RandomStreams(spec.seed); // Refuses what is no seed.
  let task: T | undefined;
  /** Made where the policy is asked for before there has been a run. */
  let untrained: T | undefined;
  let training = false;
  const rewind = rewinder(spec.remembers ?? []);
  const made = (): T => {
    if (task) return task;
    throw new EspalierError("NOT_TRAINED", `${kind}: there has been no run yet`, {
      fix: "call train() first",
    });
  };
  const present = (): T => {
    if (task) return task;
    if (!untrained) {
      const { samplesPerEpoch, task: make } = spec.begin();
      untrained = make(Math.ceil(spec.totalSteps / samplesPerEpoch));
    }
    return untrained;
  };
  /** A task's policy as it is now, and the states that it needs to act. */
  const playing = async ({ player, snapshot }: T) => {
    return { player, state: (await snapshot(player.reads)).components };
  };
  const begin = (given: AgentTraining<T> = {}): TrainerOptions => {
    checkTraining(`${kind}.train`, given);
    const steps = checkSize(`${kind}.train`, "steps", given.steps ?? spec.totalSteps);
    if (training)
      throw new EspalierError("AGENT_BUSY", `${kind}: this agent is training already`, {
        fix: "wait for its train() to end, or make another agent",
      });
    task?.close?.();
    untrained?.close?.();
    untrained = undefined;
    rewind(spec.remembers ?? []);
    const { samplesPerEpoch, task: make } = spec.begin();
    const epochs = Math.ceil(steps / samplesPerEpoch);
    spec.checkSteps?.(epochs * samplesPerEpoch);
    const own = make(epochs);
    task = own;
    rewind(Object.values(own.ramps).flatMap(({ state }) => state ?? []));
    const { hooks = [] } = given;
    const further = checkHooks(`${kind}.train`, typeof hooks === "function" ? hooks(own) : hooks);
    return {
      task: own,
      config: { ...(spec.seed !== undefined && { seed: spec.seed }), onNonFinite, ...given.config, epochs },
      hooks: [...(spec.hooks?.(own) ?? []), ...further],
      ...(given.warn && { warn: given.warn }),
    };
  };
  return {
    settings,
    setup: begin,
    train: async (given) => {
      const { hooks = [], ...options } = begin(given);
      training = true;
      try {
        return await new Trainer({ ...options, hooks: withProgress(hooks, given?.progress) }).train();
      } finally {
        training = false;
      }
    },
    evaluate: async (evaluation = {}) => {
      checkNames(`${kind}.evaluate`, evaluation, evaluationNames);
      const { episodes = 20, seed = 0, deterministic = true, random = false } = evaluation;
      const { maxLength, signal, lesson = evaluation.env ? undefined : spec.lesson } = evaluation;
      checkFlag(`${kind}.evaluate`, "random", random);
      const played = await playEpisodes({
        ...(random ? { player: "random" } : await playing(present())),
        ...{ env: evaluation.env ?? env, episodes, seed, deterministic },
        ...(lesson !== undefined && { lesson }),
        ...(maxLength !== undefined && { maxLength }),
        ...(signal && { signal }),
        ...(engine !== undefined && { engine }),
      });
      const scores = scoresOf(played);
      return {
        return: scores.return as number,
        length: scores.length as number,
        returns: played.map((episode) => episode.return),
        ...{ scores, episodes: played },
      };
    },
    actor: async (options = {}) => {
      checkNames(`${kind}.actor`, options, actorNames);
      return openActor({ ...(engine !== undefined && { engine }), ...options, ...(await playing(made())) });
    },
    get task() {
      return made();
    },
    close: () => {
      task?.close?.();
      untrained?.close?.();
    },
    toJSON: () => ({ algorithm: kind, environment: environmentJson(env), settings: asJson(settings) }),
  };
}

/** A function is shown by its name. */
function environmentJson(env: EnvironmentSource): Json {
  if (typeof env === "function") return env.name || "a function";
  return typeof env === "string" ? env : { module: env.module, name: env.name };
}

/** Settings in plain data: ramps in words, of a policy its description. */
function asJson(value: unknown): Json {
  if (isRamp(value)) return value.describe();
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value === "number" || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value !== "object" || value === null) return null;
  if ("spec" in value && "distribution" in value) return asJson(value.spec);
  if (!isPlainObject(value)) return value.constructor?.name ?? null;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, asJson(field)]));
}
