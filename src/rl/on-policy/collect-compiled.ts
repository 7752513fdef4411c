import { EspalierError, treeMap } from "../../core/index.ts";
import { compile, np, put, random, scan, type Tensor, type Value } from "../../engine/index.ts";
import { compileUpdate, TensorState } from "../../learner/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Request } from "../../trainer/index.ts";
import { sharesOf } from "../curriculum/curriculum.ts";
import { type CompiledRows, compiledRows, type RowsState } from "../vector/compiled-rows.ts";
import {
  type ActiveLosses,
  type CallResult,
  type Chunk,
  type Collector,
  perLosses,
  updatePositions,
} from "./collect.ts";
import { learn } from "./learn.ts";
import type { Statistics } from "./normalize.ts";
import type { CompiledEnvironments } from "./options.ts";
import { act, evaluateRollout, finishRollout } from "./rollout.ts";
import { lessonIn, type OnPolicySetup } from "./setup.ts";
import type { CollectorParts } from "./task.ts";

/** The state of compiled environments and of the agents in them. */
export type EnvironmentState = {
  readonly rows: RowsState;
  readonly memory: Named;
  /** Booleans [rows]: the next observation begins an episode. */
  readonly reset: Value;
};

/** The columns of a call's plan: one row a chunk. */
const planColumns = ["rollouts", "rollout", "from", "count", "updates", "row"] as const;

/**
 * Collects from environments inside the program. One call does any number of epochs and parts of epochs:
 *
 *     for each chunk of the plan:    (a scan)
 *       roll out, 0 or 1 times       (rollOut)
 *       updates from .. from + count (learn)
 *
 * How the work is cut is an input, so there is one program, and the bits do not depend on the cut.
 */
export class CompiledCollector implements Collector {
  readonly components: Collector["components"];
  readonly maxFuse: number;
  readonly fusesEpochs: boolean;
  readonly #parts: CollectorParts;
  readonly #rows: CompiledRows;
  /** The most chunks of a call, and the most updates of a rollout. */
  readonly #capacity: number;
  readonly #updates: number;
  readonly #env: TensorState<EnvironmentState>;
  readonly #begin: (key: Uint32Array, shares: Tensor | null) => StateTree;
  readonly #lesson: number;
  /** All episodes have one lesson: its share is 1. */
  readonly #oneLesson: Float32Array;
  #shares: { readonly numbers: Float32Array; readonly tensor: Tensor } | undefined;
  readonly #programFor: ReturnType<typeof perLosses<ReturnType<typeof programFor>>>;
  readonly #chunks = new Int32Array(1);
  readonly #plan: Int32Array;
  readonly #positions: Int32Array;

  constructor(parts: CollectorParts, environments: CompiledEnvironments) {
    const { options, setup } = parts;
    const { sizes, policy, learner } = setup;
    const rows = compiledRows(environments.compiled, environments.count);
    this.#parts = parts;
    this.#rows = rows;
    // One more than epochs, because a call may begin in the middle of one.
    this.#capacity = (options.maxEpochs ?? 32) + 1;
    this.#updates = setup.updateEpochs * sizes.minibatches;
    this.#lesson = lessonIn(options);
    this.#oneLesson = Float32Array.from({ length: rows.lessons }, (_, i) => (i === this.#lesson ? 1 : 0));
    const begin = compile(
      (key: Value, shares: Value | null): EnvironmentState => ({
        rows: rows.init(key, shares ?? undefined),
        memory: policy.initialState(sizes.rows),
        reset: np.ones([sizes.rows], { dtype: "bool" }),
      }),
      { ...learner.where, name: "begin" },
    );
    this.#begin = (key, shares) => begin(key, shares) as StateTree;
    const first = this.#begin(parts.key, this.#sharesNow());
    this.#env = new TensorState<EnvironmentState>("environments", first, learner.stateOptions);
    this.components = { environments: this.#env };
    this.maxFuse = (this.#capacity - 1) * (this.#updates + 1) + 1;
    this.fusesEpochs = typeof options.updateEpochs !== "object" && options.curriculum === undefined;
    this.#programFor = perLosses((losses) => programFor(parts, this.#env, rows, this.#capacity, losses));
    this.#plan = new Int32Array(this.#capacity * planColumns.length);
    this.#positions = new Int32Array(2 * this.#capacity * this.#updates);
  }

  restart(key: Uint32Array): void {
    this.#env.setState(this.#begin(key, this.#sharesNow()));
  }

  run(request: Request, chunks: readonly Chunk[], losses: ActiveLosses): CallResult {
    const { setup, buffer, keys } = this.#parts;
    const { rollouts, updates } = keys.counts;
    // Without a rollout first, there must be one to learn from.
    if (chunks[0]?.rollouts === 0) buffer.sample();
    this.#chunks[0] = chunks.length;
    this.#fillPlan(chunks);
    this.#fillPositions(chunks);
    const { program, numbers } = this.#programFor(losses);
    const { metrics, rollout } = program({
      keys: keys.tensor("keys"),
      plan: this.#plan,
      chunks: this.#chunks,
      positions: this.#positions,
      ramps: numbers.tensor(request.ramps, request.count),
      shares: this.#sharesNow(),
    });
    const { lessons, fault, ...episodes } = rollout as Readonly<Record<string, Tensor>>;
    return {
      metrics,
      rollout: episodes,
      lessons,
      nonFinite: setup.learner.nonFinite.report(updates % 2 ** 31),
      fault: fault && {
        found: fault,
        error: (index, code) => notFinite(this.#rows, (rollouts + index) * setup.sizes.steps, code),
      },
    };
  }

  #sharesNow(): Tensor | null {
    const { options, setup } = this.#parts;
    // Without shares all episodes have the first lesson.
    if (!options.curriculum && this.#lesson === 0) return null;
    const numbers = options.curriculum ? sharesOf(options.curriculum) : this.#oneLesson;
    if (this.#shares?.numbers === numbers) return this.#shares.tensor;
    this.#shares?.tensor.dispose();
    this.#shares = { numbers, tensor: put(numbers, setup.learner.where) };
    return this.#shares.tensor;
  }

  /** Writes the plan, and counts its rollouts and updates. */
  #fillPlan(chunks: readonly Chunk[]): void {
    const { counts } = this.#parts.keys;
    let { rollouts, updates } = counts;
    chunks.forEach(({ rollouts: here, from, count, row }, i) => {
      rollouts += here;
      // Updates belong to the last rollout, by its index.
      const plan = [here, (rollouts - 1) % 2 ** 31, from, count, updates % 2 ** 31, row];
      this.#plan.set(plan, i * planColumns.length);
      updates += count;
    });
    counts.rollouts = rollouts;
    counts.updates = updates;
  }

  #fillPositions(chunks: readonly Chunk[]): void {
    const { minibatches } = this.#parts.setup.sizes;
    let [train, rollout] = [0, this.#capacity * this.#updates];
    chunks.forEach((chunk, i) => {
      for (const position of updatePositions(chunk, minibatches))
        this.#positions[train++] = i * this.#updates + position;
      if (chunk.rollouts > 0) this.#positions[rollout++] = i;
    });
  }
}

/** The program for the losses that are active. */
function programFor(
  { setup, stats, buffer, stoppedEarly }: CollectorParts,
  env: TensorState<EnvironmentState>,
  rows: CompiledRows,
  capacity: number,
  losses: ActiveLosses,
) {
  const { learner, objective, sizes, updateEpochs } = setup;
  const positionCount = capacity * updateEpochs * sizes.minibatches;
  const evaluate = objective.evaluate(losses.train);
  interface Inputs {
    readonly keys: Value;
    readonly plan: Value;
    readonly chunks: Value;
    /** Of reported metrics: of updates in the first half, of rollouts in the second. */
    readonly positions: Value;
    readonly ramps: Value | null;
    readonly shares: Value | null;
  }
  const program = compileUpdate(
    { updates: { ...learner.states, ...stats, env, rollout: buffer, stoppedEarly } },
    (first, { keys, plan, chunks, positions, ramps, shares }: Inputs) => {
      const key = (i: number): Value => np.slice(keys, i);
      let names: readonly string[] = [];
      const [last, out] = scan(
        (now: typeof first, item: Value) => {
          const at = (name: (typeof planColumns)[number]): Value => np.slice(item, planColumns.indexOf(name));
          const { params, state, first: firstNonFinite, ...collected } = now;
          const [after, episodes] = scan(
            ({ env, rollout: _before, stoppedEarly: _stopped, ...statistics }: typeof collected) => {
              const ramp = learner.rates.at(ramps, at("row"));
              const own = random.foldIn(key(0), at("rollout"));
              const inputs = { params, env, stats: statistics, key: own, ramps: ramp, shares };
              const done = rollOut(setup, rows, losses.rollout, inputs);
              const next = { env: done.env, rollout: done.rollout, stoppedEarly: np.zeros([]) };
              return [{ ...next, ...done.stats }, done.episodes] as const;
            },
            collected,
            undefined,
            { length: at("rollouts"), maxLength: 1 },
          );
          const learned = learn(setup, {
            evaluate,
            state: { params, state, first: firstNonFinite, stoppedEarly: after.stoppedEarly },
            rollout: after.rollout,
            range: {
              from: at("from"),
              count: at("count"),
              updates: at("updates"),
              rollout: at("rollout"),
              row: at("row").add(at("rollouts")),
            },
            ramps,
            keys: { order: key(1), losses: key(2) },
            // Loops are slow for convolutions on a CPU, but this program is one anyway.
            loops: true,
          });
          names = learned.names;
          return [
            { ...after, ...learned.state, rollout: learned.rollout },
            { metrics: learned.metrics, episodes },
          ] as const;
        },
        first,
        np.reshape(plan, [capacity, planColumns.length]),
        { length: np.slice(chunks, 0) },
      );
      const reported = np.reshape(positions, [2, positionCount]);
      const picked = np.take(np.reshape(out.metrics, [positionCount, -1]), np.slice(reported, 0), {
        axis: 0,
      });
      const rolledOut = np.slice(reported, 1, [0, capacity]);
      return [
        last,
        {
          metrics: Object.fromEntries(names.map((name, i) => [name, np.slice(picked, ":", i)])),
          rollout: treeMap(
            (x: Value) => np.take(np.reshape(x, [capacity, ...x.shape.slice(2)]), rolledOut, { axis: 0 }),
            out.episodes,
          ),
        },
      ] as const;
    },
    learner.compileOptions("the training program"),
  );
  return { program, numbers: learner.rampNumbers(positionCount + capacity) };
}

interface RollOutInputs {
  readonly params: Params;
  readonly env: EnvironmentState;
  readonly stats: Statistics;
  readonly key: Value;
  readonly ramps: Readonly<Record<string, Value>>;
  readonly shares: Value | null;
}

/** One rollout of all rows. */
function rollOut(
  setup: OnPolicySetup,
  rows: CompiledRows,
  losses: readonly string[],
  { params, env, stats, key, ramps, shares }: RollOutInputs,
) {
  const { sizes, layout, transforms, policy, learner } = setup;
  const { steps, segment } = sizes;
  const stepKeys = np.reshape(random.splitKeys(key, steps * 2), [steps / segment, segment, 2, 2]);
  const step = (
    { rows: state, memory, reset }: EnvironmentState,
    own: Value,
  ): readonly [EnvironmentState, Value] => {
    const observation = rows.observe(state);
    const mask = rows.mask?.(state);
    const acted = act(setup, losses, {
      params,
      observation: transforms.observation(stats, observation),
      memory,
      reset,
      mask,
      key: np.slice(own, 0),
      weights: ramps,
    });
    const next = rows.step(state, acted.actions, np.slice(own, 1), shares ?? undefined);
    const { reward, terminated, truncated, ended, endedReturn, endedLength } = next;
    const collected = layout.collected.pack({
      observation,
      reset,
      ...(mask && { mask }),
      ...acted.fields,
      reward,
      terminated,
      truncated,
      valid: np.logicalNot(next.reset),
      ended,
      endedReturn,
      endedLength,
      ...(state.lesson && { lesson: np.repeat(state.lesson, rows.agents) }),
    });
    return [{ rows: next.state, memory: acted.memory, reset: next.reset }, collected];
  };
  const [end, { table, memory }] = scan(
    (now: EnvironmentState, chunk: Value) => {
      const [after, part] = scan(step, now, chunk);
      return [after, { table: part, memory: now.memory }] as const;
    },
    learner.shard(env),
    stepKeys,
  );
  const flat = np.reshape(table, [steps, sizes.rows, layout.collected.width]);
  const observation = rows.observe(end.rows);
  const after = {
    observation: transforms.observation(stats, observation),
    state: end.memory,
    reset: end.reset,
  };
  const value = policy.recurrent ? policy.step(params, after).value : undefined;
  const evaluated = evaluateRollout(setup, { params, stats, rows: flat, observation, value });
  const finished = finishRollout(setup, { rows: flat, evaluated, memory, stats });
  return { env: end, episodes: episodeMetrics(setup, rows, flat), ...finished };
}

/** Episodes that ended in a rollout, their mean return and length (NaN without any), and sums by lesson. */
function episodeMetrics({ layout }: OnPolicySetup, rows: CompiledRows, flat: Value) {
  const field = (name: string): Value => layout.collected.field(flat, name);
  const ended = field("ended");
  const episodes = np.sum(ended);
  const mean = (name: string): Value => np.sum(field(name)).div(episodes);
  const lessons = layout.collected.has("lesson") && {
    lessons: lessonSums(field("lesson"), ended, field("endedReturn"), rows.lessons),
  };
  return {
    episodes,
    "episode.return": mean("endedReturn"),
    "episode.length": mean("endedLength"),
    fault: firstFault(field),
    ...lessons,
  };
}

/** The first number that is not finite: 2 * (step * rows + row), plus 1 for a reward; -1 if all are finite. */
function firstFault(field: (name: string) => Value): Value {
  const finite = np.isFinite(field("observation")).astype("f32");
  const fine = np.stack([np.min(finite, { axis: -1 }), np.isFinite(field("reward")).astype("f32")], {
    axis: -1,
  });
  const flat = np.reshape(fine, [-1]);
  return np.where(np.min(flat).greater(0), -1, np.argmin(flat).astype("i32"));
}

/** [lessons, 3]: episodes, the sum of their returns, and the number of returns above 0. */
function lessonSums(lesson: Value, ended: Value, returns: Value, lessons: number): Value {
  const theirs = np.oneHot(np.reshape(lesson, [-1]).astype("i32"), lessons);
  const sums = (x: Value): Value => np.sum(theirs.mul(np.reshape(x, [-1, 1])), { axis: 0 });
  return np.stack([sums(ended), sums(returns), sums(np.greater(returns, 0).astype("f32"))], { axis: 1 });
}

/** The error about a number that is not finite. `steps` are those of the vector before the rollout. */
function notFinite({ environment, agents, rows }: CompiledRows, steps: number, code: number): EspalierError {
  const index = Math.floor(code / 2);
  const [step, row] = [Math.floor(index / rows), index % rows];
  // An observation comes from the step before, or from the reset.
  const [what, at] = code % 2 === 1 ? ["a reward", steps + step + 1] : ["an observation", steps + step];
  return new EspalierError(
    "ENVIRONMENT_INVALID",
    `${environment.name} (environment ${Math.floor(row / agents)} of its vector, step ${at}): gave ${what} that is not finite`,
    {
      fix: "look for a division by zero, a root or a logarithm of a negative number; the run goes on from the checkpoint before it",
    },
  );
}
