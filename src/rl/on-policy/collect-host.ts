import { treeMap } from "../../core/index.ts";
import { compile, hostRandom, np, put, random, type Tensor, type Value } from "../../engine/index.ts";
import { compileUpdate, TensorState } from "../../learner/index.ts";
import type { Named } from "../../losses/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Request } from "../../trainer/index.ts";
import { type Curriculum, sharesOf } from "../curriculum/curriculum.ts";
import { actionSize, choices, flatSize } from "../spaces/index.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import {
  type ActiveLosses,
  type CallResult,
  type Chunk,
  type Collector,
  perLosses,
  updatePositions,
} from "./collect.ts";
import { Columns } from "./layout.ts";
import { type LearnState, learn } from "./learn.ts";
import { episodeMetrics, infoMetrics, lessonResults } from "./report.ts";
import { act, evaluateRollout, finishRollout, type Rollout } from "./rollout.ts";
import { lessonIn, type OnPolicySetup } from "./setup.ts";
import type { CollectorParts } from "./task.ts";

/** The columns of a range of updates. */
const rangeColumns = ["from", "count", "updates", "rollout"] as const;

/**
 * Collects from environments in JavaScript:
 *
 *     for each step:  program.act(observations) on the device -> env.step(actions) on the host -> HostRollout
 *     at the end:     program.finish(HostRollout) -> RolloutBuffer on the device
 *     updates:        program.learn, any number in a call
 */
export class HostCollector implements Collector {
  readonly components: Collector["components"];
  readonly maxFuse: number;
  readonly fusesEpochs = false;
  readonly #parts: CollectorParts;
  readonly #env: VectorEnvironment;
  readonly #table: HostRollout;
  readonly #lessons: LessonSampler;
  readonly #firstMemory: () => Named<Tensor>;
  #memory: Named<Tensor>;
  /** The key of the environments, and true after they have been reset by it. */
  #key: Uint32Array;
  #begun = false;
  readonly #programsFor: ReturnType<typeof perLosses<Programs>>;
  readonly #range = new Int32Array(rangeColumns.length);
  readonly #positions: Int32Array;

  constructor(parts: CollectorParts, env: VectorEnvironment) {
    const { options, setup } = parts;
    const { sizes, policy, learner } = setup;
    this.#parts = parts;
    this.#env = env;
    this.#key = parts.key;
    this.#table = new HostRollout(env, setup);
    const lesson = options.lesson === undefined ? undefined : lessonIn(options);
    this.#lessons = new LessonSampler(env, options.curriculum, lesson);
    const loops = learner.mayLoop(() => policy.convolves);
    const updates = setup.updateEpochs * sizes.minibatches;
    this.maxFuse = loops ? updates + 1 : 1;
    this.#firstMemory = compile(() => policy.initialState(sizes.rows), {
      ...learner.where,
      name: "memory",
    });
    this.#memory = this.#firstMemory();
    this.#programsFor = perLosses((losses) => programsFor(parts, losses, this.#table, loops));
    this.#positions = new Int32Array(updates);
    this.components = {
      environments: { getState: () => this.#getState(), setState: (state) => this.#setState(state) },
    };
  }

  restart(key: Uint32Array): void {
    this.#key = key;
    this.#begun = false;
    this.#memory = this.#firstMemory();
  }

  run({ ramps }: Request, [chunk]: readonly Chunk[], losses: ActiveLosses): CallResult {
    const { rollouts, row, count } = chunk as Chunk;
    const programs = this.#programsFor(losses);
    if (rollouts > 0) this.#rollOut(programs, ramps);
    const ended = rollouts > 0 ? this.#env.ended() : [];
    const metrics = rollouts > 0 ? { ...episodeMetrics(ended), ...infoMetrics(this.#env.infos?.()) } : {};
    const learned =
      count > 0
        ? this.#learn(programs, { ...(chunk as Chunk), row: row + rollouts }, ramps)
        : { metrics: {} };
    const { where } = this.#parts.setup.learner;
    return {
      ...learned,
      rollout: Object.fromEntries(
        Object.entries(metrics).map(([name, value]) => [name, put(Float32Array.of(value), where)]),
      ),
      counted: { episodes: rollouts > 0 ? [ended.length] : [], lessons: lessonResults(ended), metrics },
    };
  }

  #rolloutKey(): Uint32Array {
    const { keys, counts } = this.#parts.keys;
    return hostRandom.hostFoldIn(keys.keys.subarray(0, 2), counts.rollouts % 2 ** 31);
  }

  #begin(): void {
    if (this.#begun) return;
    this.#lessons.drawAll(this.#rolloutKey());
    this.#env.reset(this.#key[0] as number);
    this.#begun = true;
  }

  #rollOut({ act, finish, rolloutRamps }: Programs, given: Request["ramps"]): void {
    const { setup, buffer, stoppedEarly, keys } = this.#parts;
    const { sizes, policy, learner } = setup;
    const table = this.#table;
    this.#begin();
    const ramps = rolloutRamps.tensor(given, 1);
    const key = put(this.#rolloutKey(), learner.where);
    this.#lessons.start(this.#rolloutKey());
    const memories: Named<Tensor>[] = [];
    const step = (t: number): Tensor => {
      const next = act({ memory: this.#memory, seen: table.look(t), key, ramps });
      if (t < sizes.steps) this.#memory = next.memory;
      return next.rows;
    };
    for (let t = 0; t < sizes.steps; t++) {
      if (t % sizes.segment === 0) memories.push(this.#memory);
      const rows = step(t);
      this.#env.step(table.act(t, rows.readSync() as Float32Array));
      rows.dispose();
      table.outcome(t);
      this.#lessons.afterStep();
    }
    if (policy.recurrent) {
      const rows = step(sizes.steps);
      table.act(sizes.steps, rows.readSync() as Float32Array);
      rows.dispose();
    } else table.look(sizes.steps);
    key.dispose();
    keys.counts.rollouts++;
    const finished = finish({ rows: table.numbers, memories });
    buffer.replace(finished.rollout);
    stoppedEarly.replace([finished.stoppedEarly]);
  }

  #learn({ learn, updateRamps }: Programs, { from, count, row }: Chunk, ramps: Request["ramps"]) {
    const { setup, buffer, keys } = this.#parts;
    const { rollouts, updates } = keys.counts;
    this.#range.set([from, count, updates % 2 ** 31, (rollouts - 1) % 2 ** 31]);
    this.#positions.set(updatePositions({ from, count }, setup.sizes.minibatches));
    const own = Object.fromEntries(
      Object.entries(ramps).map(([name, all]) => [name, all.subarray(row, row + count)]),
    );
    buffer.sample();
    const metrics = learn({
      keys: keys.tensor("keys"),
      range: this.#range,
      positions: this.#positions,
      ramps: updateRamps.tensor(own, count),
    });
    const nonFinite = setup.learner.nonFinite.report(updates % 2 ** 31);
    keys.counts.updates += count;
    return { metrics, nonFinite };
  }

  #getState(): StateTree {
    this.#begin();
    return { vector: this.#env.getState(), memory: this.#memory, lessons: this.#lessons.getState() };
  }

  #setState(saved: StateTree): void {
    const { vector, memory, lessons } = saved as Readonly<Record<string, StateTree>>;
    this.#env.setState(vector as StateTree);
    const { device } = this.#parts.setup.learner;
    const state = new TensorState<Named>("memory", this.#firstMemory(), { device, donated: true });
    state.setState(memory as StateTree);
    this.#memory = state.getState() as Named<Tensor>;
    this.#lessons.setState(lessons as StateTree);
    this.#begun = true;
  }
}

type Programs = ReturnType<typeof programsFor>;

/** The programs for the losses that are active. */
function programsFor(
  { setup, stats, buffer, stoppedEarly }: CollectorParts,
  losses: ActiveLosses,
  { seen, acted }: Pick<HostRollout, "seen" | "acted">,
  loops: boolean,
) {
  const { learner, layout, sizes, transforms } = setup;
  const { params } = learner;

  interface ActInputs {
    readonly memory: Named;
    readonly seen: Value;
    readonly key: Value;
    readonly ramps: Value | null;
  }
  /** One step of the policy for all rows. */
  const actOnce = compileUpdate(
    { updates: {}, reads: { params, ...stats } },
    ({ params, ...now }, inputs: ActInputs) => {
      const rows = np.reshape(inputs.seen, [-1, seen.width]);
      const step = np.slice(seen.field(rows, "step"), 0).astype("i32");
      const done = act(setup, losses.rollout, {
        params,
        observation: transforms.observation(now, seen.field(rows, "observation")),
        memory: inputs.memory,
        reset: np.notEqual(seen.field(rows, "reset"), 0),
        mask: seen.has("mask") ? np.notEqual(seen.field(rows, "mask"), 0) : undefined,
        key: random.foldIn(inputs.key, step),
        weights: learner.rates.at(inputs.ramps, np.zeros([], { dtype: "i32" })),
      });
      return [{}, { rows: acted.pack({ ...done.fields, actions: done.actions }), memory: done.memory }];
    },
    learner.compileOptions("act"),
  );

  interface FinishInputs {
    /** With one step more: the observation after the rollout. */
    readonly rows: Value;
    readonly memories: readonly Named[];
  }
  const finish = compileUpdate(
    { updates: stats, reads: { params } },
    ({ params, ...before }, { rows, memories }: FinishInputs) => {
      const all = np.reshape(rows, [sizes.steps + 1, sizes.rows, layout.collected.width]);
      const [table, end] = [np.slice(all, [0, sizes.steps]), np.slice(all, sizes.steps)];
      const last = (name: string): Value => layout.collected.field(end, name);
      const memory = treeMap((...parts: Value[]) => np.stack(parts), ...(memories as [Named]));
      const evaluated = evaluateRollout(setup, {
        params,
        stats: before,
        rows: table,
        observation: last("observation"),
        value: layout.collected.has("value") ? last("value") : undefined,
      });
      const found = finishRollout(setup, { rows: table, evaluated, memory, stats: before });
      const rollout = buffer.packing.pack(found.rollout);
      return [found.stats, { rollout, stoppedEarly: np.zeros([]) }];
    },
    learner.compileOptions("finish"),
  );

  interface LearnCall {
    readonly keys: Value;
    readonly range: Value;
    /** Of reported metrics, see {@link updatePositions}. */
    readonly positions: Value;
    readonly ramps: Value | null;
  }
  const evaluate = setup.objective.evaluate(losses.train);
  const learnRange = (state: LearnState, rollout: Rollout, { keys, range, positions, ramps }: LearnCall) => {
    const at = (name: (typeof rangeColumns)[number]): Value => np.slice(range, rangeColumns.indexOf(name));
    const learned = learn(setup, {
      evaluate,
      state,
      rollout,
      range: {
        from: at("from"),
        count: at("count"),
        updates: at("updates"),
        rollout: at("rollout"),
        row: np.zeros([], { dtype: "i32" }),
      },
      ramps,
      keys: { order: np.slice(keys, 1), losses: np.slice(keys, 2) },
      loops,
    });
    const table = np.reshape(learned.metrics, [-1, learned.names.length]);
    const picked = loops ? np.take(table, positions, { axis: 0 }) : table;
    const metrics = Object.fromEntries(learned.names.map((name, i) => [name, np.slice(picked, ":", i)]));
    return { ...learned, metrics };
  };
  const updates = { ...learner.states, stoppedEarly };
  const options = learner.compileOptions("the training program");
  return {
    act: actOnce,
    finish,
    // Only V-trace changes the rollout.
    learn: setup.vtrace
      ? compileUpdate(
          { updates: { ...updates, rollout: buffer } },
          ({ rollout, ...state }, inputs: LearnCall) => {
            const learned = learnRange(state, rollout, inputs);
            return [{ ...learned.state, rollout: learned.rollout }, learned.metrics];
          },
          options,
        )
      : compileUpdate(
          { updates, reads: { rollout: buffer } },
          ({ rollout, ...state }, inputs: LearnCall) => {
            const learned = learnRange(state, rollout, inputs);
            return [learned.state, learned.metrics];
          },
          options,
        ),
    rolloutRamps: learner.rampNumbers(1),
    updateRamps: learner.rampNumbers(setup.updateEpochs * sizes.minibatches),
  };
}

/**
 * A rollout on the host: a row for each step and row of the vector, in the columns that the device takes at its end.
 * Filled in place, step by step, without allocating.
 */
class HostRollout {
  /** [steps + 1, rows, columns]; of the last step only the observation, and the value of a recurrent policy. */
  readonly numbers: Float32Array;
  /** The columns of a step's input to the policy, and of its output. */
  readonly seen: Columns;
  readonly acted: Columns;
  readonly #env: VectorEnvironment;
  readonly #setup: OnPolicySetup;
  readonly #seen: Float32Array;
  readonly #actions: Float32Array;
  /** 1 for rows that acted in this step. */
  readonly #valid: Float32Array;
  readonly #actionSize: number;

  constructor(env: VectorEnvironment, setup: OnPolicySetup) {
    const { sizes, layout, policy } = setup;
    const { actions, parameters } = policy.distribution;
    this.#env = env;
    this.#setup = setup;
    this.#actionSize = actionSize(env.actionSpace);
    this.seen = new Columns({
      observation: [flatSize(env.observationSpace)],
      reset: [],
      step: [],
      ...(env.actionMasks && { mask: [choices(env.actionSpace)] }),
    });
    this.acted = new Columns({
      actions: [actions],
      action: [actions],
      parameters: [parameters],
      ...(policy.recurrent && { value: [] }),
      ...layout.added,
    });
    this.numbers = new Float32Array((sizes.steps + 1) * sizes.rows * layout.collected.width);
    this.#seen = new Float32Array(sizes.rows * this.seen.width);
    this.#actions = new Float32Array(sizes.rows * this.#actionSize);
    this.#valid = new Float32Array(sizes.rows);
  }

  /** The policy's input before step t, which is also written to the table. */
  look(t: number): Float32Array {
    const { observations, resets, actionMasks } = this.#env;
    const { rows } = this.#setup.sizes;
    for (const [name, values] of [
      ["observation", observations],
      ["reset", resets],
      ["mask", actionMasks],
    ] as const) {
      if (!values) continue;
      this.seen.write(name, values, this.#seen, 0, rows);
      this.#collect(t, name, values);
    }
    for (let row = 0; row < rows; row++) this.#seen[row * this.seen.width + this.seen.at("step")] = t;
    return this.#seen;
  }

  /** Writes the policy's output at step t; returns the actions for the environments. */
  act(t: number, given: Float32Array): Float32Array {
    const { sizes, layout } = this.#setup;
    const { acted } = this;
    const { collected } = layout;
    // Both have the same fields in the same order, except for the actions that come first here.
    const [from, to] = [acted.at("action"), collected.at("action")];
    const count = acted.width - from;
    for (let row = 0; row < sizes.rows; row++) {
      const source = row * acted.width;
      for (let i = 0; i < this.#actionSize; i++)
        this.#actions[row * this.#actionSize + i] = given[source + i] as number;
      const target = (t * sizes.rows + row) * collected.width + to;
      for (let i = 0; i < count; i++) this.numbers[target + i] = given[source + from + i] as number;
    }
    return this.#actions;
  }

  /** Writes the outcome of step t. */
  outcome(t: number): void {
    const { rewards, terminated, truncated, resets } = this.#env;
    for (let row = 0; row < resets.length; row++) this.#valid[row] = 1 - (resets[row] as number);
    this.#collect(t, "reward", rewards);
    this.#collect(t, "terminated", terminated);
    this.#collect(t, "truncated", truncated);
    this.#collect(t, "valid", this.#valid);
  }

  #collect(t: number, name: string, values: ArrayLike<number>): void {
    const { sizes, layout } = this.#setup;
    layout.collected.write(name, values, this.numbers, t * sizes.rows, sizes.rows);
  }
}

/** Folded into a rollout's key, whose other uses are counted by steps from 0 on. */
const lessonPurpose = 2 ** 31 - 1;

/**
 * Chooses the lessons of coming episodes: one for all, or drawn by a curriculum's shares for each environment whose
 * episode has just ended. Draws follow from the rollout's key and the step.
 */
class LessonSampler {
  readonly #env: VectorEnvironment;
  readonly #curriculum: Curriculum | undefined;
  /** The index of the lesson of all episodes, without a curriculum. */
  readonly #lesson: number | undefined;
  #key: Uint32Array = new Uint32Array(2);
  #step = 0;

  constructor(env: VectorEnvironment, curriculum: Curriculum | undefined, lesson: number | undefined) {
    this.#env = env;
    this.#curriculum = curriculum;
    this.#lesson = lesson;
  }

  /** Draws for every environment. */
  drawAll(key: Uint32Array): void {
    const { nextLessons } = this.#env;
    if (this.#curriculum) this.#draw(hostRandom.hostFoldIn(key, lessonPurpose), [...nextLessons.keys()]);
    else if (this.#lesson !== undefined) nextLessons.fill(this.#lesson);
  }

  /** A rollout begins. */
  start(key: Uint32Array): void {
    this.#key = hostRandom.hostFoldIn(key, lessonPurpose);
    this.#step = 0;
  }

  /** Draws for environments whose episode has ended. */
  afterStep(): void {
    this.#step++;
    if (!this.#curriculum) return;
    const { terminated, truncated, nextLessons, agents } = this.#env;
    const ended = (i: number): boolean => terminated[i * agents] !== 0 || truncated[i * agents] !== 0;
    const due = [...nextLessons.keys()].filter(ended);
    if (due.length > 0) this.#draw(hostRandom.hostFoldIn(this.#key, this.#step), due);
  }

  #draw(key: Uint32Array, environments: readonly number[]): void {
    const { count, nextLessons } = this.#env;
    const shares = sharesOf(this.#curriculum as Curriculum);
    const numbers = hostRandom.hostUniform(key, count);
    for (const i of environments) nextLessons[i] = lessonAt(shares, numbers[i] as number);
  }

  getState(): StateTree {
    return { next: this.#env.nextLessons.slice() };
  }

  setState(state: StateTree): void {
    this.#env.nextLessons.set((state as { readonly next: Int32Array }).next);
  }
}

/** The lesson at a number from 0 up to 1. The last share that is not 0 takes what rounding leaves. */
function lessonAt(shares: Float32Array, drawn: number): number {
  let [lesson, upTo] = [0, 0];
  for (let i = 0; i < shares.length && drawn >= upTo; i++) {
    if (shares[i] === 0) continue;
    lesson = i;
    upTo += shares[i] as number;
  }
  return lesson;
}
