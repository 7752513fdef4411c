import { put, type Tensor } from "../../engine/index.ts";
import { NonFiniteIndex } from "../../learner/index.ts";
import type { Params } from "../../nn/index.ts";
import { RandomStreams } from "../../random/index.ts";
import { advanceCounters, type Counters, constant, linear, type Ramp } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import {
  frozenStates,
  type Report,
  type Request,
  type Segment,
  type Span,
  type Task,
  type TrainerHook,
} from "../../trainer/index.ts";
import { lessonOf, warnOfOneLesson } from "../environments/environment.ts";
import type { Player } from "../evaluation/player.ts";
import type { ReplayBuffer } from "../experience/replay-buffer.ts";
import { RolloutFigures } from "../on-policy/episodes.ts";
import type { Policy } from "../policies/policy.ts";
import { DqnCounts, drawKeys } from "./counts.ts";
import { Gathering } from "./gathering.ts";
import { type DqnOptions, kind } from "./options.ts";
import { taskSettings } from "./settings.ts";
import { setUp } from "./setup.ts";

/** A task that learns what actions are worth from experience it keeps. */
export interface DqnTask extends Task {
  readonly policy: Policy;
  /** What plays episodes with this task's policy, given a snapshot: the likeliest action is the most valuable one. */
  readonly player: Player;
  /** The parameters as they are now. They stay as they are while training goes on. */
  readonly params: Params<Tensor>;
  readonly buffer: ReplayBuffer;
  /** Agent steps in an epoch. */
  readonly samplesPerEpoch: number;
  close(): void;
}

/**
 * Deep Q learning, off policy: `rolloutSteps` steps of all environments, some of them at random, then `updates` updates
 * from transitions drawn out of a replay buffer; `cycles` times over in an epoch.
 *
 * @example
 * ```ts
 * const task = dqnTask({
 *   environment: vectorEnvironment({ make: "CartPole-v1", count: 1 }),
 *   optimizer: optim.adam({ learningRate: 2.5e-4 }),
 *   epsilon: linear({ from: 1, to: 0.05, over: { samples: 10_000 } }),
 *   double: true,
 * });
 * await new Trainer({ task, config: { epochs: 50 } }).train();
 * ```
 */
export function dqnTask(options: DqnOptions): DqnTask {
  const parts = setUp(options);
  const { environment } = options;
  const { numbers, policy, params, target, state, objective, rates, buffer, on, capacity } = parts;
  const counts = new DqnCounts(drawKeys(parts.streams));
  const seedOf = (streams: RandomStreams): number => streams.get("environments").key()[0] as number;
  const gathering = new Gathering(environment, buffer, counts, {
    seed: seedOf(parts.streams),
    lesson: options.lesson === undefined ? undefined : lessonOf(kind, environment, options.lesson),
  });
  const components: Readonly<Record<string, Stateful>> = {
    ...{ params, target, optimizer: state, replay: buffer, environments: gathering, keys: counts },
    ...objective.components,
  };
  const epsilon: Ramp = rampOf(options.epsilon ?? linear({ from: 1, to: 0.05, over: { samples: 10_000 } }));

  const figures = new RolloutFigures();
  const rolloutAdds = { samples: numbers.rolloutSteps * environment.rows };
  const trainAdds = { batches: 1, updates: 1 };
  const rollout: Segment = {
    ...{ phase: "rollout", repeats: 1, adds: rolloutAdds, fusesWithNext: false, maxFuse: 1 },
  };
  const epoch = (at: Counters): readonly Segment[] => {
    let now = at;
    return Array.from({ length: numbers.cycles }, () => {
      now = advanceCounters(now, { ...rolloutAdds, steps: rolloutAdds.samples }, 1);
      if (now.samples < numbers.learningStarts) return [rollout];
      const stretches = objective.chunks("train", now, trainAdds, numbers.updates);
      now = advanceCounters(now, trainAdds, numbers.updates);
      const train = { phase: "train", adds: trainAdds, fusesWithNext: false, maxFuse: capacity } as const;
      return [rollout, ...stretches.map((repeats): Segment => ({ ...train, repeats }))];
    }).flat();
  };

  const number = (value: number): Tensor => put(Float32Array.of(value), on);
  const gather = (ramps: Request["ramps"]): Report => {
    const share = ramps.epsilon?.[0] as number;
    const found = gathering.run(numbers.rolloutSteps, share, parts.greedy);
    figures.tell({ ...found, ...rolloutAdds });
    return {
      metrics: Object.fromEntries(
        Object.entries({ ...found, epsilon: share }).map(([name, value]) => [name, number(value)]),
      ),
      counted: { episodes: [found.episodes as number] },
    };
  };

  const nonFinite = new NonFiniteIndex(on);
  const at = new Int32Array(2);
  const learn = ({ at: counters }: Span, count: number, ramps: Request["ramps"]): Report => {
    const { program, numbers: ramped } = parts.learnFor(objective.active("train", counters, trainAdds));
    const keys = Array.from({ length: count }, (_, i) => counts.replayKey(i));
    const batches = buffer.sample({ count: numbers.batchSize, key: keys, room: capacity });
    at.set([count, counts.updates % 2 ** 31]);
    const now = ramped.tensor(ramps, count);
    const next = program(
      ...([params.now, state.now, target.now, batches as never, at, now, counts.keys.losses] as const),
      nonFinite.now,
    );
    params.replace(next.params);
    state.replace(next.state);
    target.replace(next.target);
    for (const tensor of Object.values(batches)) tensor.dispose();
    counts.updates += count;
    const found = nonFinite.replace(next.first, at[1] as number);
    return {
      metrics: next.values as Readonly<Record<string, Tensor>>,
      ...(next.applied !== null && { applied: next.applied as Tensor }),
      nonFinite: found,
    };
  };

  return {
    ...{ components, policy, buffer, epoch },
    sampleUnit: "agentSteps",
    stepUnit: "samples",
    counters: ["episodes"],
    ramps: { ...rates.ramps, epsilon },
    settings: taskSettings(options, parts),
    hooks: [...(objective.hooks as readonly TrainerHook[]), figures.hook],
    samplesPerEpoch: numbers.cycles * rolloutAdds.samples,
    player: { policy, reads: ["params"] },
    begin: ({ config, warn }) => {
      warnOfOneLesson(kind, options, environment, warn);
      parts.useDeterministic(config.deterministic);
      nonFinite.clear();
      if (options.seed !== undefined || config.seed === 0 || params.restored || counts.steps > 0) return;
      const streams = new RandomStreams(config.seed);
      if (!options.params) {
        params.setState(policy.init(streams.get("params").key(), on) as StateTree);
        target.setState(params.getState());
        state.setState(parts.init(params.now) as StateTree);
      }
      counts.restart(drawKeys(streams));
      gathering.restart(seedOf(streams));
    },
    run: ({ spans, count, ramps }) => {
      const [span] = spans as readonly [Span];
      return span.segment.phase === "rollout" ? gather(ramps) : learn(span, count, ramps);
    },
    snapshot: (names = Object.keys(components)) => frozenStates(kind, components, names),
    get params() {
      return params.getState() as Params<Tensor>;
    },
    close: () => environment.close(),
  };
}

const rampOf = (given: Ramp | number): Ramp => (typeof given === "number" ? constant(given) : given);
