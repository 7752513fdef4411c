import { compile, np, type Tensor, type Value } from "../../engine/index.ts";
import { NonFiniteIndex, TensorState } from "../../learner/index.ts";
import type { Params } from "../../nn/index.ts";
import { RandomStreams } from "../../random/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import {
  frozenStates,
  type Report,
  type Request,
  type Segment,
  type Task,
  type TrainerHook,
} from "../../trainer/index.ts";
import { warnOfOneLesson } from "../environments/environment.ts";
import type { Player } from "../evaluation/player.ts";
import type { Policy } from "../policies/policy.ts";
import { isCompiled, kind } from "./check-options.ts";
import { compiledWorld } from "./compiled-world.ts";
import { countsOf } from "./counts.ts";
import { RolloutFigures } from "./episodes.ts";
import type { Gathered } from "./learn.ts";
import type { OnPolicyOptions } from "./options.ts";
import { ordinaryWorld } from "./ordinary-world.ts";
import { reportOf } from "./report.ts";
import { RolloutExperience } from "./rollout-experience.ts";
import type { RunnerParts } from "./runner.ts";
import { taskSettings } from "./settings.ts";
import { drawKeys, setUp } from "./setup.ts";
import { RunningState } from "./sides.ts";
import { endsRollout, type Stretch, stretchesOf, type UpdatePlace } from "./stretch.ts";
import { TunerWatch } from "./tuner-watch.ts";

/** A task that learns from its own latest experience: PPO, A2C and their kin. */
export interface OnPolicyTask extends Task {
  readonly policy: Policy;
  /** What plays episodes with this task's policy, given a snapshot. */
  readonly player: Player;
  /** The parameters as they are now. They stay as they are while training goes on. */
  readonly params: Params<Tensor>;
  /** Agent steps in an epoch. */
  readonly samplesPerEpoch: number;
  /** Ends the environments' threads, where they have some. */
  close(): void;
}

/**
 * Reinforcement learning on policy. An epoch is a rollout and the updates from it: `rolloutSteps` steps of all
 * environments, then `updateEpochs` times through the experience in `minibatches` parts. With compiled environments all
 * of it, and many epochs, are one call where nobody watches.
 *
 * @example
 * ```ts
 * const task = onPolicyTask({
 *   environment: { compiled: compiledEnvironment("CartPole-v1"), count: 4 },
 *   losses: [policyLoss(), valueLoss(), entropyLoss()],
 *   optimizer: optim.chain(optim.clipByGlobalNorm(0.5), optim.adam({ learningRate: 2.5e-4, epsilon: 1e-5 })),
 *   ...{ rolloutSteps: 128, updateEpochs: 4, minibatches: 4 },
 * });
 * await new Trainer({ task, config: { epochs: 200 } }).train();
 * ```
 */
export function onPolicyTask(options: OnPolicyOptions): OnPolicyTask {
  const parts = setUp(options);
  const { environment, curriculum } = options;
  const { params, state, objective, sizes, policy, device, donated, on, tuner, layout } = parts;
  const keys = drawKeys(new RandomStreams(options.seed ?? 0));
  const counts = countsOf(keys.steps, parts.put);
  const running = new RunningState(parts.sides, device, donated);
  const empty = compile(
    (): Gathered => ({
      table: np.zeros([sizes.segments, sizes.segment, layout.learned.width]),
      memory: policy.initialState(sizes.segments),
    }),
    { ...on, name: "experience" },
  );
  const experience = new RolloutExperience(empty(), { device, donated });
  const halted = new TensorState<Value>("halted", parts.put(Float32Array.of(0), []), {
    ...{ device, donated: false, lent: false },
  });
  let deterministic = options.deterministic ?? false;
  let worldKey = keys.world;
  const shared: RunnerParts = {
    ...{ running, experience, halted, added: layout.added, nonFinite: new NonFiniteIndex(on) },
    get worldKey() {
      return worldKey;
    },
    compileOptions: () => ({ deterministic }),
  };
  const runner = isCompiled(environment)
    ? compiledWorld(parts, environment, shared, counts)
    : ordinaryWorld(parts, environment, shared, counts);

  const watch = tuner && new TunerWatch(tuner);
  const components: Readonly<Record<string, Stateful>> = {
    params,
    optimizer: state,
    ...running.components,
    experience,
    halted,
    ...runner.components,
    keys: counts,
    ...(curriculum && { curriculum }),
    ...(watch && { updateEpochs: watch }),
    ...objective.components,
  };

  const figures = new RolloutFigures();
  const rolloutAdds = { samples: sizes.steps * sizes.rows };
  const trainAdds = { batches: 1, updates: 1 };
  const constant = options.losses.every(({ active }) => !active?.rollout && !active?.train);
  const epoch = (at: Counters): readonly Segment[] => {
    const updates = (watch?.updateEpochs(at) ?? parts.updateEpochs) * sizes.minibatches;
    const { maxFuse } = runner;
    const rollout: Segment = {
      ...{ phase: "rollout" as const, repeats: 1, adds: rolloutAdds, maxFuse },
      fusesWithNext: constant && maxFuse > 1,
    };
    const after = { ...at, samples: at.samples + rolloutAdds.samples, steps: at.steps + rolloutAdds.samples };
    const stretches = constant ? [updates] : objective.chunks("train", after, trainAdds, updates);
    let from = 0;
    const train = stretches.map((repeats): Segment => {
      const first = from;
      from += repeats;
      const fusesWithNext = constant && runner.fusesEpochs;
      const data: UpdatePlace = { first, of: updates };
      return { phase: "train", repeats, adds: trainAdds, maxFuse, fusesWithNext, data };
    });
    return [rollout, ...train];
  };

  const run = (request: Request): Report | Promise<Report> => {
    const stretches = stretchesOf(request);
    const { rolloutSpan, trainSpan } = stretches[0] as Stretch;
    // A phase that a call does not have is compiled with all losses, whatever the counters.
    const losses = {
      rollout:
        constant || !rolloutSpan ? objective.names : objective.active("rollout", rolloutSpan.at, rolloutAdds),
      train: constant || !trainSpan ? objective.names : objective.active("train", trainSpan.at, trainAdds),
    };
    const done = runner.run(request, stretches, losses);
    const report = () =>
      reportOf(done, stretches, curriculum, (found) => figures.tell({ ...found, ...rolloutAdds }));
    const updates = stretches.at(-1)?.count ?? 0;
    if (watch && updates > 0) watch.add(done.values, updates);
    if (!endsRollout(stretches)) return report();
    experience.clear();
    return watch ? watch.end().then(report) : report();
  };

  const begin: NonNullable<Task["begin"]> = ({ config, warn }) => {
    warnOfOneLesson(kind, options, isCompiled(environment) ? environment.compiled : environment, warn);
    deterministic = options.deterministic ?? config.deterministic;
    shared.nonFinite.clear();
    if (options.seed !== undefined || config.seed === 0 || params.restored || counts.rollouts > 0) return;
    const drawn = drawKeys(new RandomStreams(config.seed));
    if (!options.params) {
      params.setState(policy.init(drawn.params, on as never) as StateTree);
      state.setState(parts.init(params.now) as StateTree);
    }
    counts.restart(drawn.steps);
    worldKey = drawn.world;
    runner.restart(worldKey);
  };

  return {
    ...{ components, policy, epoch, run, begin },
    sampleUnit: "agentSteps",
    stepUnit: "samples",
    counters: ["episodes"],
    ramps: parts.rates.ramps,
    settings: taskSettings(options, parts),
    hooks: [...(objective.hooks as readonly TrainerHook[]), figures.hook],
    samplesPerEpoch: rolloutAdds.samples,
    player: { policy, reads: ["params", ...("normalizer" in running.components ? ["normalizer"] : [])] },
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return params.getState() as Params<Tensor>;
    },
    close: () => {
      if (!isCompiled(environment)) environment.close();
    },
  };
}
