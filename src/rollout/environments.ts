/**
 * Ordinary reinforcement learning by rollout workers, as in IMPALA:
 *
 *     environmentRollouts    plays `count` environments of a lesson for `steps` steps          -> a rollout
 *     policyTask             learns from such rollouts by PPO with V-trace                     (task.ts)
 *       each update:  policy.unroll over the units of a batch, with the weights of now
 *                     V-trace: advantages and targets of values, corrected by how much likelier the actions are now
 *                     policyLoss, valueLoss, entropyLoss of those
 *
 * Arrays of a rollout, with R rows (agents of environments; a row is a unit) and T steps:
 *
 *     observation [R, T + 1, size]    before each step, and after the last
 *     reset [R, T + 1]                1 where an observation begins an episode: the step before it was none
 *     mask [R, T + 1, choices]        1 for choices that are allowed, where environments say so
 *     action [R, T, actions]          as it was drawn; with logProb, value [R, T] and parameters [R, T, parameters] of
 *                                     the policy that drew it
 *     reward, terminated, truncated [R, T]
 *     memory.* [R, ...]               of a recurrent policy, before the first step
 */
import {
  EspalierError,
  flatten,
  isPlainObject,
  leafPaths,
  type Options,
  option,
  required,
  resolveOptions,
  unflatten,
} from "../core/index.ts";
import { compile, hostRandom, np, stopGradient, type Tensor, type Value } from "../engine/index.ts";
import { asLoss, type Loss, type Named } from "../losses/index.ts";
import type { Params } from "../nn/index.ts";
import { adam, chain, clipByGlobalNorm } from "../optim/index.ts";
import {
  advantages,
  Columns,
  checkedLessons,
  checkMade,
  checkSource,
  type Environment,
  type EpisodeResult,
  type Experience,
  entropyLoss,
  lessonOf,
  makeEnvironment,
  type Player,
  type Policy,
  type PolicyOutputs,
  playEpisodes,
  policyFor,
  policyLoss,
  policyRow,
  spacesSetting,
  type VectorEnvironment,
  valueLoss,
  vectorEnvironment,
} from "../rl/index.ts";
import type { StateTree } from "../state/index.ts";
import type { Setting } from "../trainer/index.ts";
import { type NamedArrays, plainArrays, type RolloutGenerator, scoresOf } from "./rollout.ts";
import { type RolloutTask, rolloutTask, rolloutTaskRows } from "./task.ts";
import { arraysOf, WeightsReceiver } from "./weights.ts";

const kind = "environmentRollouts";

/** An environment and a policy for it, on which a trainer and its workers must agree. */
const gameRows = {
  /** The name of an environment, or a function that makes one. */
  env: required(
    option.made<string | (() => Environment)>(
      'the name of an environment, such as "CartPole-v1", or a function that makes one',
      (value) => typeof value !== "object",
      {},
    ),
  ),
  /** A policy or its spec. Default: two towers of two layers of 64, as PPO has them. */
  policy: policyRow,
};
type Game = Options<typeof gameRows>;

const table = {
  ...gameRows,
  /** Environments that step together. Default: 8. */
  count: option.integer({ min: 1, default: 8 }),
  /** Steps of each environment in a rollout. Default: 32. */
  steps: option.integer({ min: 1, default: 32 }),
  /** Lessons of the environment. Default: all, or its name where it has none. */
  lessons: option.made<readonly string[]>(
    "a list of the environment's lessons",
    (value) => Array.isArray(value) && value.length > 0,
    {},
  ),
  engine: rolloutTaskRows.engine,
};

/**
 * Makes rollouts of an ordinary environment: each is a stretch of `steps` steps of `count` environments, whose episodes
 * go on in the next one. Every lesson has environments of its own, which wait in the middle of their episodes while
 * another lesson is played. An evaluation plays other episodes, the most likely way.
 *
 * @example
 * ```ts
 * const game = { env: "CartPole-v1", policy: { encoder: { kind: "mlp", hidden: [64, 64] } } } as const;
 * const task = policyTask({ ...game, generator: environmentRollouts({ ...game, count: 8, steps: 32 }) });
 * ```
 */
export function environmentRollouts(options: Options<typeof table>): RolloutGenerator {
  const { env, count, steps, engine, ...settings } = resolveOptions(kind, options, table);
  const { policy, name, lessons: known = [name] } = describe(kind, { env, ...settings });
  const lessons = checkedLessons(kind, settings.lessons ?? known);
  const indexOf = (lesson: string): number => lessonOf(kind, { name, lessons: known }, lesson);
  for (const lesson of lessons) indexOf(lesson);
  const where = { ...(engine !== undefined && { engine }) };
  const receiver = new WeightsReceiver(kind, policy.init(0, where));
  const { actions, parameters } = policy.distribution;
  const columns = new Columns({
    acted: [actions],
    action: [actions],
    logProb: [],
    value: [],
    parameters: [parameters],
  });
  const act = actProgram(policy, columns);
  /** By lesson, from its first rollout on. */
  const played = new Map<string, Playing>();

  function begin(lesson: string): Playing {
    const vector = vectorEnvironment({ make: env, count });
    vector.nextLessons.fill(indexOf(lesson));
    const memory = compile(() => policy.initialState(vector.rows), where)() as Params<Tensor>;
    const playing = { vector, memory };
    played.set(lesson, playing);
    return playing;
  }

  function close(): void {
    for (const { vector } of played.values()) vector.close();
    played.clear();
  }

  function setState(state: StateTree): void {
    const saved = Object.entries(isPlainObject(state) ? state : { state }).map(([lesson, part]) => {
      const { vector, memory } = (isPlainObject(part) ? part : {}) as {
        vector?: StateTree;
        memory?: NamedArrays;
      };
      if (vector && memory && lessons.includes(lesson)) return { lesson, vector, memory };
      throw new EspalierError("STATE_INVALID", `this is not a state of rollouts of ${name}: "${lesson}"`, {
        fix: "restore it into rollouts of the same environment and lessons",
      });
    });
    close();
    for (const { lesson, vector, memory } of saved) {
      const playing = begin(lesson);
      playing.vector.setState(vector);
      playing.memory = new WeightsReceiver(kind, playing.memory).take(memory);
    }
  }

  return {
    lessons,
    setParams: (weights) => void receiver.take(weights),
    rollout: async ({ lesson, key, signal }) => {
      const { hostBits, hostFoldIn } = hostRandom;
      // Not later: a rollout that is cut would leave environments in a state that no key leads to.
      signal.throwIfAborted();
      const { params } = receiver;
      let playing = played.get(lesson);
      if (!playing) {
        playing = begin(lesson);
        playing.vector.reset((hostBits(hostFoldIn(key, firstSeed), 1)[0] as number) >>> 1);
      }
      const { vector } = playing;
      const memory = await arraysOf(playing.memory);
      const { rows } = vector;
      const arrays: Record<string, NamedArrays[string]> = {};
      /** Fields of a step, each with its rows one after the other, into arrays of rows and so many steps. */
      const record = (
        t: number,
        fields: Readonly<Record<string, ArrayLike<number>>>,
        times = steps,
      ): void => {
        for (const [name, values] of Object.entries(fields)) {
          const step = new Float32Array(values);
          const width = step.length / rows;
          const shape = [rows, times, ...(wideFields.includes(name) ? [width] : [])];
          arrays[name] ??= { data: new Float32Array(rows * times * width), shape };
          for (let row = 0; row < rows; row++)
            arrays[name].data.set(step.subarray(row * width, (row + 1) * width), (row * times + t) * width);
        }
      };
      for (let t = 0; t < steps; t++) {
        const seen = seenOf(vector);
        record(t, seen, steps + 1);
        const { drawn, memory } = act(params, playing.memory, seen, hostFoldIn(key, t));
        playing.memory = memory as Params<Tensor>;
        const { acted, ...chosen } = columnsIn(drawn.readSync() as Float32Array, columns);
        drawn.dispose();
        record(t, chosen);
        vector.step(acted as Float32Array);
        const { rewards: reward, terminated, truncated } = vector;
        record(t, { reward, terminated, truncated });
      }
      record(steps, seenOf(vector), steps + 1);
      for (const [name, array] of Object.entries(memory)) arrays[`memory.${name}`] = array;
      return { ...episodeScores(vector.ended(), vector.infos?.()), arrays };
    },
    evaluate: async ({ lesson, key, signal, examples }) =>
      episodeScores(
        await playEpisodes({
          player: playerOf(policy),
          state: { params: receiver.params as StateTree },
          env,
          episodes: examples,
          lesson: indexOf(lesson),
          seed: (hostRandom.hostBits(key, 1)[0] as number) >>> 1,
          signal,
        }),
      ),
    state: {
      varies: true, // Lessons appear one by one.
      getState: async () => {
        const all: Record<string, StateTree> = {};
        for (const [lesson, { vector, memory }] of played)
          all[lesson] = { vector: vector.getState(), memory: plainArrays(await arraysOf(memory)) };
        return all;
      },
      setState,
    },
    close,
  };
}

/** Makes an environment to read its name, lessons and spaces. */
function describe(kind: string, { env, policy }: Game) {
  checkSource(kind, "env", env);
  const made = typeof env === "string" ? makeEnvironment(env) : checkMade(env(), `env of ${kind}`);
  made.close?.();
  return { policy: policyFor(kind, policy, made), name: made.name, lessons: made.lessons };
}

/** Environments of a lesson in the middle of their episodes, and what the policy remembers of them. */
interface Playing {
  readonly vector: VectorEnvironment;
  memory: Params<Tensor>;
}

/** Folded into a rollout's key, whose other uses are counted by steps. */
const firstSeed = 2 ** 31 - 1;

/** The input of a policy's step beside its memory. */
type Seen = { readonly observation: Value; readonly reset: Value; readonly mask?: Value };

const seenOf = ({ observations, resets, actionMasks }: VectorEnvironment) => ({
  observation: observations,
  reset: resets,
  ...(actionMasks && { mask: actionMasks }),
});

const actProgram = (policy: Policy, columns: Columns) =>
  compile(
    (params: Params, memory: Named, seen: Seen, key: Value) => {
      const rows = seen.reset.shape[0] as number;
      const given = policy.step(params, {
        observation: np.reshape(seen.observation, [rows, -1]),
        reset: np.notEqual(seen.reset, 0),
        state: memory,
        ...(seen.mask && { mask: np.notEqual(np.reshape(seen.mask, [rows, -1]), 0) }),
      });
      const { parameters, value } = given;
      const { distribution } = policy;
      const action = distribution.sample(parameters, key);
      const logProb = distribution.logProb(parameters, action);
      const drawn = columns.pack({ acted: distribution.act(action), action, logProb, value, parameters });
      return { drawn, memory: given.state };
    },
    { name: "act" },
  );

/** Fields with an axis after rows and steps; the others have a number for each. */
const wideFields = ["observation", "mask", "action", "parameters"];

function columnsIn(table: Float32Array, columns: Columns): Readonly<Record<string, Float32Array>> {
  const { names, width } = columns;
  const starts = [...names.map((name) => columns.at(name)), width];
  const column = (i: number): Float32Array => {
    const [from, to] = [starts[i] as number, starts[i + 1] as number];
    const cut = new Float32Array((table.length / width) * (to - from));
    for (let at = 0; at < table.length; at += width)
      cut.set(table.subarray(at + from, at + to), (at / width) * (to - from));
    return cut;
  };
  return Object.fromEntries(names.map((name, i) => [name, column(i)]));
}

function episodeScores(
  ended: readonly Pick<EpisodeResult, "return" | "length">[],
  infos: Readonly<Record<string, number>> = {},
) {
  const scores = scoresOf(ended.map((one) => one.return));
  const steps = ended.reduce((sum, one) => sum + one.length, 0);
  return {
    ...scores,
    metrics: {
      ...(ended.length > 0 && { "episode.length": steps / ended.length }),
      ...Object.fromEntries(Object.entries(infos).map(([name, value]) => [`info.${name}`, value])),
    },
  };
}

const playerOf = (policy: Policy): Player => ({ policy, reads: ["params"] });

type Units = Readonly<Record<string, Value>>;

interface Learned {
  /** Rows of experience, with V-trace's advantages and targets. */
  readonly experience: Experience;
  readonly outputs: PolicyOutputs;
}

const above0 = option.number({ above: 0 });
const taskTable = {
  ...rolloutTaskRows,
  ...gameRows,
  /** Losses of reinforcement learning. Default: PPO's, [policyLoss(), valueLoss(), entropyLoss()]. */
  losses: option.list<Loss<Experience, PolicyOutputs>>(
    "a list of losses such as [policyLoss(), valueLoss(), entropyLoss()]",
    {},
  ),
  /** Default: Adam at 1e-3, with gradients clipped to a norm of 0.5. */
  optimizer: { ...rolloutTaskRows.optimizer, required: false as const },
  /** Rows of a rollout in a batch. Default: 8. */
  batchSize: option.integer({ min: 1, default: 8 }),
  /** Updates of an epoch. Default: 10. */
  updates: option.integer({ min: 1, default: 10 }),
  /** How often a row is learned from, at most. Default: 10. */
  maxReuse: option.integer({ min: 1, default: 10 }),
  /** The discount of rewards. Default: 0.98. */
  gamma: option.number({ min: 0, max: 1, default: 0.98 }),
  /** Of generalized advantages: 0 for one step, 1 for whole episodes. Default: 0.8. */
  lambda: option.number({ min: 0, max: 1, default: 0.8 }),
  /** V-trace's clips of the importance ratio. Default: 1 each. */
  vtrace: option.group<{ readonly rhoBar?: number; readonly cBar?: number }>(
    { rhoBar: above0, cBar: above0 },
    {},
  ),
};

/** A task that trains a policy from rollouts. */
export interface PolicyTask extends RolloutTask {
  /** Plays episodes: for `evaluationHook`, `playEpisodes` and `openActor`. */
  readonly player: Player;
}

/**
 * Reinforcement learning of a policy from rollouts of environments: PPO, whose advantages and targets of values are
 * V-trace's, made anew in every update with the weights of now. So rollouts of workers elsewhere may be some updates old.
 *
 * @example
 * ```ts
 * const game = { env: "CartPole-v1" };
 * const task = policyTask({
 *   ...game,
 *   transport: workerProcesses({ module: "./worker.ts", options: game, count: 2, capacity: 2 }),
 * });
 * await new Trainer({ task, config: { epochs: 400 } }).train();
 * ```
 */
export function policyTask(options: Options<typeof taskTable>): PolicyTask {
  const kind = "policyTask";
  const settings = resolveOptions(kind, options, taskTable);
  const { env: _, policy: __, losses, gamma, lambda, vtrace, ...rest } = settings;
  const { updates, transport, maxStaleness = transport ? undefined : updates - 1 } = settings;
  const { policy, name } = describe(kind, options);
  const targets = { gamma, lambda, rhoBar: vtrace?.rhoBar ?? 1, cBar: vtrace?.cBar ?? 1 };
  const task = rolloutTask<Units, Learned>({
    ...rest,
    optimizer:
      settings.optimizer ?? chain(clipByGlobalNorm(0.5), adam({ learningRate: 1e-3, epsilon: 1e-5 })),
    // Rollouts that are made while training waits are of its epoch alone, as in PPO.
    maxStaleness,
    init: (key, where) => policy.init(key, where),
    forward: (params, units) => learnedFrom(policy, params, units, targets),
    losses: (losses ?? [policyLoss(), valueLoss(), entropyLoss()]).map(ofExperience),
    settings: {
      environment: typeof options.env === "string" ? name : { madeByFunction: name },
      policy: policy.spec as Setting,
      spaces: spacesSetting(policy),
      ...targets,
    },
  });
  return Object.assign(task, { player: playerOf(policy) });
}

/** A loss of experience as one of units: experience is among the outputs of the shared pass. */
function ofExperience(loss: Loss<Experience, PolicyOutputs>): Loss<Units, Learned> {
  const { rollout: _, count: __, term, ...members } = asLoss(loss);
  return {
    ...members,
    term: (inputs) => {
      const { experience, outputs } = inputs.outputs;
      return term({ ...inputs, batch: experience, outputs });
    },
  };
}

type Targets = Readonly<Record<"gamma" | "lambda" | "rhoBar" | "cBar", number>>;

/** The policy over the units of a batch, and V-trace's advantages and targets, as rows. */
export function learnedFrom(policy: Policy, params: Params, units: Units, targets: Targets): Learned {
  const { distribution } = policy;
  const field = (name: string): Value => units[name] as Value;
  const [rows, times] = field("reset").shape as [number, number];
  const steps = times - 1;
  const before = (x: Value): Value => np.slice(x, ":", [0, steps]);
  const reset = np.notEqual(field("reset"), 0);
  const mask = units.mask && np.notEqual(units.mask, 0);
  const state = memoryIn(policy, units);
  const found = policy.unroll(params, {
    observation: field("observation"),
    reset,
    state,
    ...(mask && { mask }),
  });
  const parameters = before(found.parameters);
  const logProb = distribution.logProb(parameters, field("action"));

  // Steps that began an episode instead of acting, and rows that fill a batch up, are no experience.
  const acted = np.subtract(1, np.slice(field("reset"), ":", [1, times]));
  const valid = acted.mul(np.expandDims(field("valid"), 1));
  const logRatio = np.clip(stopGradient(logProb).sub(field("logProb")), -10, 10);
  const overTime = (x: Value): Value => np.swapaxes(x, 0, 1);
  const vtrace = advantages({
    ...targets,
    rewards: overTime(field("reward")),
    values: overTime(stopGradient(found.value)),
    terminated: overTime(field("terminated")),
    ends: overTime(np.maximum(field("terminated"), field("truncated"))),
    valid: overTime(valid),
    ratio: overTime(np.exp(logRatio)),
  });

  const flat = (x: Value): Value => np.reshape(x, [rows * steps, ...x.shape.slice(2)]);
  return {
    experience: {
      observation: flat(before(field("observation"))),
      action: flat(field("action")),
      logProb: flat(field("logProb")),
      value: flat(field("value")),
      parameters: flat(field("parameters")),
      advantage: flat(overTime(vtrace.advantages)),
      return: flat(overTime(vtrace.returns)),
      valid: flat(valid),
      ...(mask && { mask: flat(before(mask)) }),
    },
    outputs: {
      parameters: flat(parameters),
      logProb: flat(logProb),
      entropy: flat(distribution.entropy(parameters)),
      value: flat(before(found.value)),
    },
  };
}

function memoryIn(policy: Policy, units: Units): Named {
  if (!policy.recurrent) return {};
  const shape = flatten(policy.initialState(1), []);
  return unflatten(
    shape,
    leafPaths(shape).map((path) => units[`memory.${path}`]),
  ) as Named;
}
