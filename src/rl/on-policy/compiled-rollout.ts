import { np, random, scan, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { CompiledRows, RowsState } from "../vector/compiled-rows.ts";
import { type ActSpec, act } from "./act.ts";
import { type FinishSpec, finish } from "./finish.ts";
import { inHindsight } from "./hindsight.ts";
import type { Running } from "./sides.ts";

/** What compiled environments and those who act in them remember between calls. */
export type World = {
  readonly rows: RowsState;
  readonly memory: Named;
  /** Where the next observation begins an episode, booleans [rows]. */
  readonly reset: Value;
};

export interface RolloutSpec {
  readonly act: ActSpec;
  readonly finish: FinishSpec;
  readonly rows: CompiledRows;
}

interface RollInputs {
  readonly key: Value;
  readonly ramp: Readonly<Record<string, Value>>;
  readonly shares: Value | null;
}

/** One rollout of all rows. */
export function rollOut(
  spec: RolloutSpec,
  params: Params,
  world: World,
  running: Running,
  { key, ramp, shares }: RollInputs,
) {
  const { rows } = spec;
  const { sizes, layout, sides } = spec.finish;
  const { steps, segment } = sizes;
  const stacked = np.reshape(random.splitKeys(key, steps * 2), [steps / segment, segment, 2, 2]);
  const step = ({ rows: state, memory, reset }: World, own: Value): readonly [World, Value] => {
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
  const [end, { table, memory }] = scan(
    (now: World, chunk: Value) => {
      const [after, part] = scan(step, now, chunk);
      return [after, { table: part, memory: now.memory }] as const;
    },
    world,
    stacked,
  );
  const flat = np.reshape(table, [steps, sizes.rows, layout.gathered.width]);
  const { policy } = spec.act;
  const observation = rows.observe(end.rows);
  const after = { observation: sides.seen(running, observation), state: end.memory, reset: end.reset };
  const value = policy.recurrent ? policy.step(params, after).value : undefined;
  const thought = inHindsight({ policy, layout, sides }, params, running, flat, { observation, value });
  const [gathered, next] = finish(spec.finish, flat, thought, memory, running);
  return { world: end, values: statistics(spec, flat), gathered, running: next };
}

/** What the episodes that ended in a rollout were like, NaN where none did; by lesson where there are some. */
function statistics({ rows, finish: { layout } }: RolloutSpec, flat: Value) {
  const field = (name: string): Value => layout.gathered.field(flat, name);
  const ended = field("ended");
  const episodes = np.sum(ended);
  const mean = (name: string): Value => np.sum(field(name)).div(episodes);
  const lessons = layout.gathered.has("lesson") && {
    lessons: lessonSums(field("lesson"), ended, field("endedReturn"), rows.lessons),
  };
  return {
    episodes,
    "episode.return": mean("endedReturn"),
    "episode.length": mean("endedLength"),
    fault: faultIn(field),
    ...lessons,
  };
}

/** The first number that is not finite: 2 * (step * rows + row), and 1 more for a reward; -1 where all are. */
function faultIn(field: (name: string) => Value): Value {
  const finite = np.isFinite(field("observation")).astype("f32");
  const fine = np.stack([np.min(finite, { axis: -1 }), np.isFinite(field("reward")).astype("f32")], {
    axis: -1,
  });
  const flat = np.reshape(fine, [-1]);
  return np.where(np.min(flat).greater(0), -1, np.argmin(flat).astype("i32"));
}

/** [lessons, 3]: episodes, the sum of their returns, and how many of these are above 0. */
function lessonSums(lesson: Value, ended: Value, returns: Value, lessons: number): Value {
  const theirs = np.oneHot(np.reshape(lesson, [-1]).astype("i32"), lessons);
  const sums = (x: Value): Value => np.sum(theirs.mul(np.reshape(x, [-1, 1])), { axis: 0 });
  return np.stack([sums(ended), sums(returns), sums(np.greater(returns, 0).astype("f32"))], { axis: 1 });
}
