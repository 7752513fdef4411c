import { np, put, type Tensor, type Value } from "../../engine/index.ts";
import { compileUpdate, KeyCounts, Learner, TensorState } from "../../learner/index.ts";
import { objective as lossesObjective } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { RandomStreams } from "../../random/index.ts";
import { advanceCounters, asRamp, type Counters, linear } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import {
  frozenStates,
  type Report,
  type Request,
  type Segment,
  type Setting,
  type Settings,
  type Span,
  type TrainerHook,
} from "../../trainer/index.ts";
import { lessonOf, warnOfOneLesson } from "../environments/environment.ts";
import { type AgentTask, environmentSetting, spacesSetting } from "../evaluation/player.ts";
import { type ReplayBuffer, replayBuffer } from "../experience/replay-buffer.ts";
import { type ActionValues, type TransitionTargets, tdLoss } from "../losses/td.ts";
import { RolloutStatsSlot } from "../on-policy/report.ts";
import type { Policy } from "../policies/policy.ts";
import { countedKey, type DqnKeys, TransitionCollector, transitionFields } from "./collect.ts";
import { actionValues, learnProgram, type Transitions, valueAt } from "./learn.ts";
import { type DqnOptions, type DqnTaskSettings, dqnSettings, kind, valuePolicyFor } from "./options.ts";

/** A task that learns action values from a replay buffer. Its policy's most likely action is the most valuable one. */
export interface DqnTask extends AgentTask {
  readonly buffer: ReplayBuffer;
}

/**
 * Deep Q learning, off policy. An epoch is:
 *
 * ```
 * for cycles:
 *   for rolloutSteps:                                    collect.ts
 *     action = random with probability epsilon, else argmax of the action values
 *     replay buffer += transition
 *   for updates, once learningStarts is reached:         learn.ts
 *     batch drawn from the replay buffer
 *     a step of the optimizer towards the targets
 *     the target network follows
 * ```
 *
 * @example
 * ```ts
 * const task = dqnTask({
 *   env: vectorEnvironment({ make: "CartPole-v1", count: 1 }),
 *   optimizer: optim.adam({ learningRate: 2.5e-4 }),
 *   epsilon: linear({ from: 1, to: 0.05, over: { samples: 10_000 } }),
 *   double: true,
 * });
 * await new Trainer({ task, config: { epochs: 50 } }).train();
 * ```
 */
export function dqnTask(options: DqnOptions): DqnTask {
  const settings = dqnSettings(options);
  const { env } = options;
  const { rolloutSteps, updates, cycles } = settings;
  const policy = valuePolicyFor(kind, options.policy, env);
  const objective = lossesObjective<TransitionTargets, ActionValues>({
    forward: (params, batch) => ({
      value: valueAt(actionValues(policy, params, batch.observation as Value), batch.action as Value),
    }),
    losses: options.losses ?? [tdLoss()],
  });
  const learner = new Learner({
    ...options,
    task: kind,
    ramps: objective.ramps,
    init: (key, where) => policy.init(key, where),
  });
  learner.checkShare("batchSize", settings.batchSize);
  // It begins as the learning network, and shares its tensors until one of them moves.
  const target = new TensorState<Params>("target", learner.params.getState(), {
    ...learner.stateOptions,
    borrowed: true,
  });
  const buffer = replayBuffer({
    capacity: settings.capacity,
    fields: transitionFields(env),
    ...learner.where,
  });
  const drawn = drawKeys(learner.streams);
  const keys: DqnKeys = new KeyCounts({
    keys: drawn.keys,
    counts: ["steps", "updates"],
    where: learner.where,
  });
  const lesson = options.lesson === undefined ? undefined : lessonOf(kind, env, options.lesson);
  const collector = new TransitionCollector({ env, buffer, keys, seed: drawn.seed, lesson });
  const components: Record<string, Stateful> = {
    ...learner.components,
    target,
    replay: buffer,
    environments: collector,
    keys,
    ...objective.components,
  };

  const capacity = learner.mayLoop(() => policy.convolves) ? updates : 1;
  const programFor = objective.perSet((evaluate) => ({
    program: learnProgram({
      learner,
      target,
      policy,
      evaluate,
      capacity,
      gamma: settings.gamma,
      double: settings.double,
      every: settings.target.every ?? 50,
      tau: settings.target.tau ?? 1,
    }),
    numbers: learner.rampNumbers(capacity),
  }));
  const greedy = greedyProgram(learner, policy, env.rows);

  const rolloutSlot = new RolloutStatsSlot();
  const rolloutAdds = { samples: rolloutSteps * env.rows };
  const trainAdds = { batches: 1, updates: 1 };
  const rollout: Segment = {
    phase: "rollout",
    repeats: 1,
    adds: rolloutAdds,
    fusesWithNext: false,
    maxFuse: 1,
  };
  const epoch = (at: Counters): readonly Segment[] => {
    let now = at;
    return Array.from({ length: cycles }, () => {
      now = advanceCounters(now, { ...rolloutAdds, steps: rolloutAdds.samples }, 1);
      if (now.samples < settings.learningStarts) return [rollout];
      const counts = objective.chunks("train", now, trainAdds, updates);
      now = advanceCounters(now, trainAdds, updates);
      const train = { phase: "train", adds: trainAdds, fusesWithNext: false, maxFuse: capacity } as const;
      return [rollout, ...counts.map((repeats): Segment => ({ ...train, repeats }))];
    }).flat();
  };

  const collect = (ramps: Request["ramps"]): Report => {
    const epsilon = ramps.epsilon?.[0] as number;
    const found = collector.run(rolloutSteps, epsilon, (observations, masks) =>
      greedy({ observations, masks: masks ?? null }),
    );
    rolloutSlot.set({ ...found, ...rolloutAdds });
    const metrics = Object.entries({ ...found, epsilon }).map(
      ([name, value]) => [name, put(Float32Array.of(value), learner.where)] as const,
    );
    return { metrics: Object.fromEntries(metrics), counted: { episodes: [found.episodes as number] } };
  };

  const at = new Int32Array(2);
  const learn = ({ at: counters }: Span, count: number, ramps: Request["ramps"]): Report => {
    const { program, numbers } = programFor(objective.active("train", counters, trainAdds));
    const before = keys.counts.updates;
    const drawKey = (i: number): Uint32Array => countedKey(keys.keys.replay, before + i);
    const batches = buffer.sample({
      count: settings.batchSize,
      key: Array.from({ length: count }, (_, i) => drawKey(i)),
      room: capacity,
    });
    at.set([count, before % 2 ** 31]);
    const { metrics, applied } = program({
      batches: batches as Transitions<Tensor>,
      at,
      ramps: numbers.tensor(ramps, count),
      key: keys.keys.losses,
    });
    for (const tensor of Object.values(batches)) tensor.dispose();
    keys.counts.updates += count;
    const nonFinite = learner.nonFinite.report(at[1] as number);
    return { metrics, ...(applied !== null && { applied }), nonFinite };
  };

  return {
    components,
    policy,
    buffer,
    epoch,
    sampleUnit: "agentSteps",
    stepUnit: "samples",
    counters: ["episodes"],
    ramps: {
      ...learner.rates.ramps,
      epsilon: asRamp(options.epsilon ?? linear({ from: 1, to: 0.05, over: { samples: 10_000 } })),
    },
    learned: ["target"],
    get settings() {
      return { ...taskSettings(options, settings, policy, objective.names), ...learner.averageSettings };
    },
    average: (options) => {
      learner.average(options);
      Object.assign(components, learner.components);
    },
    hooks: [...(objective.hooks as readonly TrainerHook[]), rolloutSlot.hook],
    samplesPerEpoch: cycles * rolloutAdds.samples,
    player: { policy, reads: ["params"] },
    begin: ({ config, warn }) => {
      warnOfOneLesson(kind, options, env, warn);
      const streams = learner.begin(config, keys.counts.steps > 0);
      if (!streams) return;
      if (!options.params) target.setState(learner.params.getState());
      const again = drawKeys(streams);
      keys.restart(again.keys);
      collector.restart(again.seed);
    },
    run: ({ spans, count, ramps }) => {
      const [span] = spans as readonly [Span];
      return span.segment.phase === "rollout" ? collect(ramps) : learn(span, count, ramps);
    },
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return learner.params.getState() as Params<Tensor>;
    },
    close: () => env.close(),
  };
}

/** The keys of a run, and the seed of its environments. */
const drawKeys = (streams: RandomStreams) => ({
  seed: streams.get("environments").key()[0] as number,
  keys: {
    actions: streams.get("actions").key(),
    replay: streams.get("replay").key(),
    losses: streams.get("losses").key(),
  },
});

/** Compiles the most valuable actions of all rows. */
function greedyProgram({ params, where }: Learner, policy: Policy, rows: number) {
  interface Inputs {
    readonly observations: Value;
    readonly masks: Value | null;
  }
  return compileUpdate(
    { updates: {}, reads: { params } },
    ({ params }, { observations, masks }: Inputs) => {
      const mask = masks === null ? undefined : np.notEqual(np.reshape(masks, [rows, -1]), 0);
      const values = actionValues(policy, params, np.reshape(observations, [rows, -1]), mask);
      return [{}, np.reshape(policy.distribution.mode(values), [rows])];
    },
    { ...where, name: "act" },
  );
}

/** The settings that decide the bits of the training, as plain values. */
function taskSettings(
  options: DqnOptions,
  settings: DqnTaskSettings,
  policy: Policy,
  losses: readonly string[],
): Settings {
  const { env, optimizer, epsilon, lesson, seed, deterministic } = options;
  return {
    environment: environmentSetting(env),
    rows: env.rows,
    policy: policy.spec as Setting,
    spaces: spacesSetting(policy),
    gamma: settings.gamma,
    learningStarts: settings.learningStarts,
    double: settings.double,
    tau: settings.target.tau ?? 1,
    every: settings.target.every ?? 50,
    rolloutSteps: settings.rolloutSteps,
    updates: settings.updates,
    cycles: settings.cycles,
    batchSize: settings.batchSize,
    capacity: settings.capacity,
    ...(epsilon !== undefined && { epsilon: typeof epsilon === "number" ? epsilon : epsilon.describe() }),
    losses,
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(lesson !== undefined && { lesson: lessonOf(kind, env, lesson) }),
    ...(seed !== undefined && { seed }),
    ...(deterministic !== undefined && { deterministic }),
  };
}
