import { compile, np, put, type Tensor, type Value } from "../../engine/index.ts";
import { KeyCounts, TensorState } from "../../learner/index.ts";
import type { Params } from "../../nn/index.ts";
import type { RandomStreams } from "../../random/index.ts";
import { advanceCounters, type Counters } from "../../schedule/index.ts";
import type { Stateful } from "../../state/index.ts";
import {
  frozenStates,
  type Report,
  type Request,
  type Segment,
  type Setting,
  type Settings,
  type TrainerHook,
} from "../../trainer/index.ts";
import { warnOfOneLesson } from "../environments/environment.ts";
import { type AgentTask, environmentSetting, spacesSetting } from "../evaluation/player.ts";
import {
  type ActiveLosses,
  type Chunk,
  type Collector,
  chunksOf,
  endsRollout,
  type UpdateSegment,
} from "./collect.ts";
import { CompiledCollector } from "./collect-compiled.ts";
import { HostCollector } from "./collect-host.ts";
import { statisticsStates } from "./normalize.ts";
import { environmentOf, isCompiled, kind, type OnPolicyOptions } from "./options.ts";
import { RolloutStatsSlot, reportOf, TunerWatch } from "./report.ts";
import { type Rollout, RolloutBuffer } from "./rollout.ts";
import { lessonIn, type OnPolicySetup, setUp } from "./setup.ts";

/** A task that learns from its own latest experience: PPO, A2C and similar algorithms. */
export interface OnPolicyTask extends AgentTask {}

/**
 * Reinforcement learning on policy. An epoch of the trainer is a rollout and the updates from it:
 *
 * ```
 * for rolloutSteps:                         collect-compiled.ts or collect-host.ts
 *   action = policy(observation)            rollout.ts: act
 *   observation, reward = env.step(action)
 * values, log-probabilities of all steps    rollout.ts: evaluateRollout
 * rewards normalized, advantages (GAE)      rollout.ts: finishRollout, normalize.ts
 * for updateEpochs:                         learn.ts: learn
 *   for minibatches of the shuffled rollout:
 *     gradients of the losses, a step of the optimizer
 * metrics, episodes, curriculum             report.ts
 * ```
 *
 * With compiled environments all of it, for many epochs, is one call where no hook looks in between.
 *
 * @example
 * ```ts
 * const task = onPolicyTask({
 *   env: { compiled: compiledEnvironment("CartPole-v1"), count: 4 },
 *   losses: [policyLoss(), valueLoss(), entropyLoss()],
 *   optimizer: optim.chain(optim.clipByGlobalNorm(0.5), optim.adam({ learningRate: 2.5e-4, epsilon: 1e-5 })),
 *   rolloutSteps: 128,
 *   updateEpochs: 4,
 *   minibatches: 4,
 * });
 * await new Trainer({ task, config: { epochs: 200 } }).train();
 * ```
 */
export function onPolicyTask(options: OnPolicyOptions): OnPolicyTask {
  const setup = setUp(options);
  const { policy, objective, sizes, learner } = setup;
  const { env, curriculum, updateEpochs } = options;
  const parts = collectorParts(options, setup);
  const { keys, buffer } = parts;
  const collector: Collector = isCompiled(env)
    ? new CompiledCollector(parts, env)
    : new HostCollector(parts, env);
  const tuner = typeof updateEpochs === "object" ? new TunerWatch(updateEpochs) : undefined;
  const components: Record<string, Stateful> = {
    ...learner.components,
    ...parts.stats,
    experience: buffer,
    halted: parts.stoppedEarly,
    ...collector.components,
    keys,
    ...(curriculum && { curriculum }),
    ...(tuner && { updateEpochs: tuner }),
    ...objective.components,
  };

  const rolloutSlot = new RolloutStatsSlot();
  const rolloutAdds = { samples: sizes.steps * sizes.rows };
  const trainAdds = { batches: 1, updates: 1 };
  /** All losses are active throughout. */
  const constant = options.losses.every(({ active }) => !active?.rollout && !active?.train);

  /** A rollout, and the updates from it, cut where the active losses change. */
  const epoch = (at: Counters): readonly Segment[] => {
    const updates = (tuner?.updateEpochs(at) ?? setup.updateEpochs) * sizes.minibatches;
    const { maxFuse } = collector;
    const rollout: Segment = {
      phase: "rollout",
      repeats: 1,
      adds: rolloutAdds,
      maxFuse,
      fusesWithNext: constant && maxFuse > 1,
    };
    const after = advanceCounters(at, { ...rolloutAdds, steps: rolloutAdds.samples }, 1);
    const counts = constant ? [updates] : objective.chunks("train", after, trainAdds, updates);
    let first = 0;
    const train = counts.map((repeats): Segment => {
      const data: UpdateSegment = { first, of: updates };
      first += repeats;
      const fusesWithNext = constant && collector.fusesEpochs;
      return { phase: "train", repeats, adds: trainAdds, maxFuse, fusesWithNext, data };
    });
    return [rollout, ...train];
  };

  const activeLosses = ({ rolloutSpan, trainSpan }: Chunk): ActiveLosses => ({
    // A phase that a call does not have is compiled with all losses, whatever the counters.
    rollout:
      constant || !rolloutSpan ? objective.names : objective.active("rollout", rolloutSpan.at, rolloutAdds),
    train: constant || !trainSpan ? objective.names : objective.active("train", trainSpan.at, trainAdds),
  });

  const run = (request: Request): Report | Promise<Report> => {
    const chunks = chunksOf(request);
    const result = collector.run(request, chunks, activeLosses(chunks[0] as Chunk));
    const report = () =>
      reportOf(result, chunks, curriculum, (found) => rolloutSlot.set({ ...found, ...rolloutAdds }));
    const updates = chunks.at(-1)?.count ?? 0;
    if (tuner && updates > 0) tuner.add(result.metrics, updates);
    if (!endsRollout(chunks)) return report();
    buffer.clear();
    return tuner ? tuner.end().then(report) : report();
  };

  return {
    components,
    policy,
    epoch,
    run,
    begin: ({ config, warn }) => {
      warnOfOneLesson(kind, options, environmentOf(env), warn);
      const streams = learner.begin(config, keys.counts.rollouts > 0);
      if (!streams) return;
      const again = drawKeys(streams);
      keys.restart({ keys: again.keys });
      collector.restart(again.env);
    },
    sampleUnit: "agentSteps",
    stepUnit: "samples",
    counters: ["episodes"],
    ramps: learner.rates.ramps,
    model: ["params", ...Object.keys(parts.stats)],
    get settings() {
      return { ...taskSettings(options, setup), ...learner.averageSettings };
    },
    average: (options) => {
      learner.average(options);
      Object.assign(components, learner.components);
    },
    hooks: [...(objective.hooks as readonly TrainerHook[]), rolloutSlot.hook],
    samplesPerEpoch: rolloutAdds.samples,
    player: { policy, reads: ["params", ...(parts.stats.normalizer ? ["normalizer"] : [])] },
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return learner.params.getState() as Params<Tensor>;
    },
    close: () => {
      if (!isCompiled(env)) env.close();
    },
  };
}

/** The parts of collectors: the options, the traced parts, and the states on the device. */
export type CollectorParts = Readonly<ReturnType<typeof collectorParts>>;

function collectorParts(options: OnPolicyOptions, setup: OnPolicySetup) {
  const { learner } = setup;
  const { where, device } = learner;
  const drawn = drawKeys(learner.streams);
  const none = put(Float32Array.of(0), { ...where, shape: [] });
  return {
    options,
    setup,
    stats: statisticsStates(setup.transforms, learner),
    buffer: new RolloutBuffer(emptyRollout(setup), learner.stateOptions),
    stoppedEarly: new TensorState<Value>("halted", none, { device, donated: false }),
    /** Keys of rollouts, of shuffling and of losses, with counts of rollouts and updates. */
    keys: new KeyCounts({ keys: { keys: drawn.keys }, counts: ["rollouts", "updates"], where }),
    /** The first key of the environments. */
    key: drawn.env,
  };
}

/** The keys of a run: of environments; of rollouts, shuffling and losses. */
function drawKeys(streams: RandomStreams) {
  const draw = (name: string): Uint32Array => streams.get(name).key();
  return {
    env: draw("environments"),
    keys: Uint32Array.of(...draw("actions"), ...draw("order"), ...draw("losses")),
  };
}

/** Tensors of a rollout's shapes. */
function emptyRollout({ sizes, layout, policy, learner }: OnPolicySetup) {
  const empty = compile(
    (): Rollout => ({
      table: np.zeros([sizes.segments, sizes.segment, layout.learned.width]),
      memory: policy.initialState(sizes.segments),
    }),
    { ...learner.where, name: "experience" },
  );
  return empty();
}

/**
 * The settings that decide the bits of the training, as plain values. An evaluator makes the policy and the environment
 * again from them.
 */
function taskSettings(options: OnPolicyOptions, { policy, sizes, gae }: OnPolicySetup): Settings {
  const { env, optimizer, seed, updateEpochs = 1, targetKl, vtrace, prioritized } = options;
  return {
    environment: isCompiled(env) ? env.compiled.name : environmentSetting(env),
    compiled: isCompiled(env),
    policy: policy.spec as Setting,
    spaces: spacesSetting(policy),
    rolloutSteps: sizes.steps,
    rows: sizes.rows,
    segment: sizes.segment,
    minibatches: sizes.minibatches,
    gamma: gae.gamma,
    lambda: gae.lambda,
    normalizeAdvantages: gae.normalize,
    centerRewards: options.centerRewards ?? false,
    normalize: { ...options.normalize },
    updateEpochs:
      typeof updateEpochs === "number" ? updateEpochs : `${updateEpochs.min} to ${updateEpochs.max}`,
    ...(targetKl !== undefined && { targetKl }),
    ...(vtrace && { vtrace }),
    ...(prioritized && { prioritized: { ...prioritized, beta: rateSetting(prioritized.beta ?? 0.2) } }),
    losses: Object.fromEntries(options.losses.map((loss) => [loss.name, lossSettings(loss)])),
    optimizer: { kind: optimizer.kind, rates: optimizer.rates as Setting },
    ...(options.lesson !== undefined && { lesson: lessonIn(options) }),
    ...(seed !== undefined && { seed }),
    ...(options.deterministic !== undefined && { deterministic: options.deterministic }),
  };
}

function lossSettings({ weight = 1, rates = {}, active }: OnPolicyOptions["losses"][number]): Settings {
  return {
    weight: rateSetting(weight),
    ...Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, rateSetting(rate)])),
    ...(active?.rollout && { rollout: active.rollout.describe() }),
    ...(active?.train && { train: active.train.describe() }),
  };
}

const rateSetting = (number: number | { describe(): string }): Setting =>
  typeof number === "number" ? number : number.describe();
