import {
  badOption,
  checkOptions,
  EspalierError,
  isPlainObject,
  type Options,
  option,
  resolveOptions,
  shown,
} from "../../core/index.ts";
import type { EngineChoice } from "../../engine/index.ts";
import { withProgress } from "../../metrics/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { isRamp } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import {
  Trainer,
  type TrainerHook,
  type TrainerOptions,
  type TrainingConfig,
  type TrainingResult,
} from "../../trainer/index.ts";
import { type Actor, type ActorOptions, actorOptions, openActor } from "../acting/actor.ts";
import { checkSource, type EnvironmentSource } from "../environments/registry.ts";
import { type EpisodeResult, episodeRows, playEpisodes } from "../evaluation/play.ts";
import type { AgentTask } from "../evaluation/player.ts";
import { scoresOf } from "../evaluation/suites.ts";
import { isCompiled, type OnPolicyOptions } from "../on-policy/options.ts";
import * as rows from "../option-rows.ts";
import type { SpaceValue } from "../spaces/space.ts";

const trainingRows = {
  /** Agent steps of the whole training, those before a resume included. Default: the settings' own. */
  steps: rows.size,
  /** Further configuration of the run; `epochs` follows from the steps. */
  config: option.made<Partial<Omit<TrainingConfig, "epochs">>>(
    "an object such as { seed: 1 }",
    isPlainObject,
    {},
  ),
  warn: option.function<NonNullable<TrainerOptions["warn"]>>("a function of the text", {}),
  /** Shows progress. Default: on a terminal, if no hook logs metrics. */
  progress: rows.flag,
};

/** Options of an agent's `train`. */
export interface AgentTraining<T extends AgentTask = AgentTask> extends Options<typeof trainingRows> {
  /** Hooks, or a function that makes them for the run's task: evaluation needs its `player`. */
  readonly hooks?: readonly TrainerHook[] | ((task: T) => readonly TrainerHook[]);
}

const evaluationOptions = {
  ...episodeRows,
  /** Default: the lesson that the agent trains on, or the first. */
  lesson: rows.lesson,
  /** Draws actions uniformly instead of by the policy, for a baseline. Default: false. */
  random: rows.flag,
  episodes: option.integer({ min: 1, default: 20 }),
  seed: option.integer({ default: 0 }),
  /** Another environment. Default: the agent's. */
  env: rows.source,
};

/** Options of an agent's `evaluate`. */
export interface AgentEvaluation extends Options<typeof evaluationOptions> {}

/** The result of an evaluation. */
export interface AgentScore {
  /** Mean over the episodes. */
  readonly return: number;
  readonly length: number;
  readonly returns: readonly number[];
  readonly scores: Readonly<Record<string, number>>;
  readonly episodes: readonly EpisodeResult[];
}

/** An algorithm with an environment: trains, evaluates and acts. */
export interface Agent<T extends AgentTask = AgentTask, S = unknown> {
  readonly settings: S;
  /** Trains a new run, or resumes one by a checkpoint hook. One at a time. */
  train(training?: AgentTraining<T>): Promise<TrainingResult>;
  /** The options of a `Trainer` for a new run, for commands that train themselves. */
  setup(training?: AgentTraining<T>): TrainerOptions;
  /** Plays episodes with the present policy; before any training, with the untrained one. */
  evaluate(evaluation?: AgentEvaluation): Promise<AgentScore>;
  /** The present policy, to act with. Training that goes on does not change it. */
  actor<A extends SpaceValue = SpaceValue>(options?: ActorOptions): Promise<Actor<A>>;
  /** The task of the last run. */
  readonly task: T;
  /** Stops the environments' threads, if any. */
  close(): void;
  /** The algorithm, the environment and the settings, for `JSON.stringify`. */
  toJSON(): { readonly algorithm: string; readonly environment: Json; readonly settings: Json };
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

interface AgentParts<T extends AgentTask, S, E extends OnPolicyOptions["env"]> {
  readonly kind: string;
  readonly options: {
    readonly env: EnvironmentSource;
    readonly engine?: EngineChoice | undefined;
    readonly seed?: number | undefined;
    readonly onNonFinite?: TrainingConfig["onNonFinite"] | undefined;
    readonly lesson?: string | number | undefined;
  };
  readonly settings: S;
  /** Refuses a number of agent steps. */
  readonly checkSteps?: (steps: number) => void;
  /** Objects with state from outside: every run begins with the state they had when the agent was made. */
  readonly shared?: readonly Stateful[];
  /** Hooks that come with it. */
  readonly hooks?: (task: T) => readonly TrainerHook[];
  /** Makes the environments of a run. */
  readonly environments: () => E;
  readonly samplesPerEpoch: (env: E) => number;
  readonly task: (env: E, epochs: number) => T;
}

/** Makes an agent. A task is made for each run, when its length is known. */
export function agentOf<
  T extends AgentTask,
  S extends { readonly totalSteps: number },
  E extends OnPolicyOptions["env"],
>(parts: AgentParts<T, S, E>): Agent<T, S> {
  const { kind, settings, options, shared = [] } = parts;
  const { env, engine, seed: ownSeed, onNonFinite = "stop" } = options;
  const { totalSteps } = settings;
  checkSource(kind, "env", env);
  if (ownSeed !== undefined) new RandomStreams(ownSeed); // Refuses an invalid seed.
  let task: T | undefined;
  /** Made for an evaluation before the first run. */
  let untrained: T | undefined;
  let training = false;
  const rewind = rewinder(shared);
  const made = (): T => {
    if (task) return task;
    throw new EspalierError("NOT_TRAINED", `${kind}: there has been no run yet`, {
      fix: "call train() first",
    });
  };
  /** A task for some steps; `check` may refuse them as they are rounded up to epochs. */
  const start = (steps: number, check?: (steps: number) => void) => {
    const env = parts.environments();
    try {
      const samples = parts.samplesPerEpoch(env);
      const epochs = Math.ceil(steps / samples);
      check?.(epochs * samples);
      return { epochs, task: parts.task(env, epochs) };
    } catch (error) {
      if (!isCompiled(env)) env.close();
      throw error;
    }
  };
  const present = (): T => {
    if (task) return task;
    untrained ??= start(totalSteps).task;
    return untrained;
  };
  /** A task's present policy, and the states that it needs to act. */
  const playing = async ({ player, snapshot }: T) => {
    return { player, state: (await snapshot(player.reads)).components };
  };
  const begin = (given: AgentTraining<T> = {}): TrainerOptions => {
    checkTraining(`${kind}.train`, given);
    const { steps = totalSteps } = given;
    if (training)
      throw new EspalierError("AGENT_BUSY", `${kind}: this agent is training already`, {
        fix: "wait for its train() to end, or make another agent",
      });
    task?.close();
    untrained?.close();
    untrained = undefined;
    rewind(shared);
    const { task: own, epochs } = start(steps, parts.checkSteps);
    task = own;
    rewind(Object.values(own.ramps).flatMap(({ state }) => state ?? []));
    const { hooks = [] } = given;
    const further = checkHooks(`${kind}.train`, typeof hooks === "function" ? hooks(own) : hooks);
    return {
      task: own,
      config: { ...(ownSeed !== undefined && { seed: ownSeed }), onNonFinite, ...given.config, epochs },
      hooks: [...(parts.hooks?.(own) ?? []), ...further],
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
      const { random, ...given } = resolveOptions(`${kind}.evaluate`, evaluation, evaluationOptions);
      const lesson = given.lesson ?? (given.env ? undefined : options.lesson);
      const who = random ? ({ player: "random" } as const) : await playing(present());
      const played = await playEpisodes({ engine, ...given, ...who, env: given.env ?? env, lesson });
      const scores = scoresOf(played);
      return {
        return: scores.return as number,
        length: scores.length as number,
        returns: played.map((episode) => episode.return),
        scores,
        episodes: played,
      };
    },
    actor: async (given = {}) => {
      checkOptions(`${kind}.actor`, given, actorOptions);
      return openActor({ engine, ...given, ...(await playing(made())) });
    },
    get task() {
      return made();
    },
    close: () => {
      task?.close();
      untrained?.close();
    },
    toJSON: () => ({
      algorithm: kind,
      environment: typeof env === "function" ? env.name || "a function" : asJson(env),
      settings: asJson(settings),
    }),
  };
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

/** The option `onNonFinite` of agents. */
export const nonFiniteRow = option.oneOf(["stop", "warn", "ignore"], {});

/** The options that a table has rows for and that are given. */
export function pickOptions<O extends object, K extends string>(
  options: O,
  table: Readonly<Record<K, unknown>>,
): { readonly [N in K & keyof O]?: Exclude<O[N], undefined> } {
  const given = Object.entries(options).filter(([name, value]) => name in table && value !== undefined);
  return Object.fromEntries(given) as ReturnType<typeof pickOptions<O, K>>;
}

/** Refuses options of a training that are misspelt, or that the agent decides itself. */
function checkTraining<T extends AgentTask>(kind: string, training: AgentTraining<T>): void {
  // Hooks are checked when the task is there: see checkHooks.
  checkOptions(kind, training, { ...trainingRows, hooks: option.anything("a list of hooks") });
  const { config = {} } = training;
  if ("epochs" in config)
    throw badOption(
      kind,
      `config has epochs: ${shown(config.epochs)}, and they follow from the steps`,
      "give steps instead, as many as those epochs have",
    );
}

function checkHooks(kind: string, hooks: unknown): readonly TrainerHook[] {
  if (Array.isArray(hooks)) return hooks;
  throw badOption(
    kind,
    `hooks are ${shown(hooks)}`,
    "give a list of hooks, or a function of the task that gives one: ({ player }) => [...]",
  );
}

/**
 * Sets objects that runs share back to their first state: the given ones to that of now, others to that of their first
 * call. One whose state is a promise is left as it is.
 */
function rewinder(known: readonly Stateful[]): (parts: readonly Stateful[]) => void {
  const firsts = new Map<Stateful, StateTree | Promise<StateTree>>(
    known.map((part) => [part, part.getState()]),
  );
  return (parts) => {
    for (const part of parts) {
      const first = firsts.get(part);
      if (first === undefined) firsts.set(part, part.getState());
      else if (!(first instanceof Promise)) void part.setState(first);
    }
  };
}
