import { treeMap } from "../../core/index.ts";
import { type CompileOptions, compile, np, random, scan, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { OptimizerState } from "../../optim/index.ts";
import type { Packing } from "../../update/index.ts";
import type { CompiledRows, RowsState } from "../compiled/rows.ts";
import { type ActSpec, act } from "./act.ts";
import { type FinishSpec, finish } from "./finish.ts";
import { type Gathered, type LearnSpec, learn, type ValueNames } from "./learn.ts";
import type { Packs, Running } from "./sides.ts";

/** What compiled environments and those who act in them remember between calls. */
export type World = {
  readonly rows: RowsState;
  readonly memory: Named;
  /** Where the next observation begins an episode, booleans [rows]. */
  readonly reset: Value;
  /** Means over the episodes of the last rollout in which one ended; NaN before the first. */
  readonly return: Value;
  readonly length: Value;
};

export interface CompiledSpec {
  readonly act: ActSpec;
  readonly finish: FinishSpec;
  readonly learn: LearnSpec;
  readonly rows: CompiledRows;
  /** The most rollouts that one call can do. */
  readonly capacity: number;
  /** How the parts are kept between calls. */
  readonly packing: {
    readonly params: Packing<Params>;
    readonly state: Packing<OptimizerState>;
    readonly world: Packing<World>;
    readonly running: Packs<Running>;
    readonly gathered: Packing<Gathered>;
  };
}

/** The columns of a call's plan: one row an epoch, or a part of one. */
export const planColumns = ["rollouts", "rollout", "from", "count", "updates", "row"] as const;

/**
 * Rollouts and updates of compiled environments in one call: how many, and which part of an epoch it begins and ends
 * with, are inputs (`plan`, `calls`). One program, however the work is cut, so that the bits are the same.
 */
export function compiledProgram(spec: CompiledSpec, options: CompileOptions) {
  const { packing, capacity } = spec;
  return compile(
    (
      params: readonly Value[],
      state: readonly Value[],
      world: readonly Value[],
      running: readonly Value[],
      gathered: readonly Value[],
      halted: Value,
      keys: Value,
      plan: Value,
      calls: Value,
      rows: Value,
      ramps: Value | null,
      shares: Value | null,
    ) => {
      const key = (i: number): Value => np.slice(keys, i);
      const reported: ValueNames = { names: [] };
      const init = {
        params: packing.params.unpack(params),
        state: packing.state.unpack(state),
        world: packing.world.unpack(world),
        running: packing.running.unpack(running),
        experience: packing.gathered.unpack(gathered),
        halted,
      };
      const [last, out] = scan(
        (now: typeof init, item: Value) => {
          const at = (name: (typeof planColumns)[number]): Value => np.slice(item, planColumns.indexOf(name));
          const rolled = {
            world: now.world,
            running: now.running,
            experience: now.experience,
            halted: now.halted,
          };
          const [after, stats] = scan(
            (before: typeof rolled) => {
              const ramp = spec.learn.rates.at(ramps, at("row"));
              const own = random.foldIn(key(0), at("rollout"));
              const done = rollOut(spec, now.params, before.world, before.running, {
                key: own,
                ramp,
                shares,
              });
              const { world, gathered: found, running: next, values } = done;
              return [{ world, running: next, experience: found, halted: np.zeros([]) }, values];
            },
            rolled,
            undefined,
            { length: at("rollouts"), maxLength: 1 },
          );
          const asked = {
            ...{ from: at("from"), count: at("count"), updates: at("updates"), rollout: at("rollout") },
            row: at("row").add(at("rollouts")),
          };
          const learner = { params: now.params, state: now.state, halted: after.halted };
          const lent = { order: key(1), losses: key(2) };
          const [learned, experience, values] = learn(
            spec.learn,
            learner,
            after.experience,
            asked,
            ramps,
            lent,
            reported,
          );
          return [
            { ...after, ...learned, experience },
            { values, stats },
          ] as const;
        },
        init,
        np.reshape(plan, [capacity, planColumns.length]),
        { length: np.slice(calls, 0) },
      );
      const { updateEpochs, sizes } = spec.learn;
      const positions = capacity * updateEpochs * sizes.minibatches;
      const places = np.reshape(rows, [2, positions]);
      const picked = np.take(np.reshape(out.values, [positions, -1]), np.slice(places, 0), { axis: 0 });
      const rolledOut = np.slice(places, 1, [0, capacity]);
      return {
        params: packing.params.pack(last.params),
        state: packing.state.pack(last.state),
        world: packing.world.pack(last.world),
        running: packing.running.pack(last.running),
        gathered: packing.gathered.pack(last.experience),
        halted: last.halted,
        values: Object.fromEntries(reported.names.map((name, i) => [name, np.slice(picked, ":", i)])),
        rollout: treeMap(
          (x: Value) => np.take(np.reshape(x, [capacity, ...x.shape.slice(2)]), rolledOut, { axis: 0 }),
          out.stats,
        ),
      };
    },
    options,
  );
}

interface RollInputs {
  readonly key: Value;
  readonly ramp: Readonly<Record<string, Value>>;
  readonly shares: Value | null;
}

/** One rollout of all rows. */
function rollOut(
  spec: CompiledSpec,
  params: Params,
  world: World,
  running: Running,
  { key, ramp, shares }: RollInputs,
) {
  const { rows } = spec;
  const { sizes, layout, sides } = spec.finish;
  const { steps, segment } = sizes;
  const keys = random.split(key, steps * 2 + 1) as unknown as readonly Value[];
  const stacked = np.reshape(np.stack(keys.slice(0, steps * 2)), [steps / segment, segment, 2, 2]);
  type Carry = Pick<World, "rows" | "memory" | "reset">;
  const step = ({ rows: state, memory, reset }: Carry, own: Value): readonly [Carry, Value] => {
    const observation = rows.observe(state);
    const mask = rows.mask?.(state);
    const seen = { params, observation: sides.seen(running, observation), memory, reset, mask };
    const acted = act(spec.act, { ...seen, key: np.slice(own, 0), weights: ramp });
    const next = rows.step(state, acted.actions, np.slice(own, 1), shares ?? undefined);
    const { reward, terminated, truncated, ended, endedReturn, endedLength } = next;
    const fields = {
      ...{ observation, reset, ...(mask && { mask }), ...acted.fields },
      ...{ reward, terminated, truncated, valid: np.logicalNot(next.reset), ended, endedReturn, endedLength },
      ...(state.lesson && { lesson: np.repeat(state.lesson, rows.agents) }),
    };
    return [{ rows: next.state, memory: acted.memory, reset: next.reset }, layout.gathered.pack(fields)];
  };
  const begin: Carry = { rows: world.rows, memory: world.memory, reset: world.reset };
  const [end, { table, memory }] = scan(
    (now: Carry, chunk: Value) => {
      const [after, part] = scan(step, now, chunk);
      return [after, { table: part, memory: now.memory }] as const;
    },
    begin,
    stacked,
  );
  const flat = np.reshape(table, [steps, sizes.rows, layout.gathered.width]);
  const observation = sides.seen(running, rows.observe(end.rows));
  const mask = rows.mask?.(end.rows);
  const last = spec.act.policy.step(params, {
    ...{ observation, state: end.memory, reset: end.reset },
    ...(mask && { mask }),
  }).value;
  const [gathered, next] = finish(spec.finish, flat, last, memory, running);
  return { ...statistics(spec, flat, world, end), gathered, running: next };
}

/** What the episodes that ended in a rollout were like, by lesson where there are some. */
function statistics(
  { rows, finish: { layout } }: CompiledSpec,
  flat: Value,
  world: World,
  end: Pick<World, "rows" | "memory" | "reset">,
) {
  const field = (name: string): Value => layout.gathered.field(flat, name);
  const ended = field("ended");
  const episodes = np.sum(ended);
  const mean = (name: string, before: Value): Value =>
    np.where(episodes.greater(0), np.sum(field(name)).div(np.maximum(episodes, 1)), before);
  const [found, length] = [mean("endedReturn", world.return), mean("endedLength", world.length)];
  const lessons = layout.gathered.has("lesson") && {
    lessons: lessonSums(field("lesson"), ended, field("endedReturn"), rows.lessons),
  };
  return {
    world: { ...end, return: found, length },
    values: { episodes, "episode.return": found, "episode.length": length, ...lessons },
  };
}

/** [lessons, 3]: episodes, the sum of their returns, and how many of these are above 0. */
function lessonSums(lesson: Value, ended: Value, returns: Value, lessons: number): Value {
  const theirs = np.oneHot(np.reshape(lesson, [-1]).astype("i32"), lessons);
  const sums = (x: Value): Value => np.sum(theirs.mul(np.reshape(x, [-1, 1])), { axis: 0 });
  return np.stack([sums(ended), sums(returns), sums(np.greater(returns, 0).astype("f32"))], { axis: 1 });
}
