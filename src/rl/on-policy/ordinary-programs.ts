import { treeMap } from "../../core/index.ts";
import { type CompileOptions, compile, np, random, type Value } from "../../engine/index.ts";
import type { Packing } from "../../learner/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { OptimizerState } from "../../optim/index.ts";
import { type ActSpec, act } from "./act.ts";
import { Columns } from "./columns.ts";
import { type FinishSpec, finish } from "./finish.ts";
import { inHindsight } from "./hindsight.ts";
import { type Gathered, type LearnSpec, learn, type ValueNames } from "./learn.ts";
import type { Packs, Running } from "./sides.ts";

export interface OrdinarySpec {
  readonly act: ActSpec;
  readonly finish: FinishSpec;
  readonly learn: LearnSpec;
  readonly packing: {
    readonly params: Packing<Params>;
    readonly state: Packing<OptimizerState>;
    readonly running: Packs<Running>;
    readonly gathered: Packing<Gathered>;
  };
}

/** What goes to the device before each step, and what comes back: each as one array of rows. */
export const seenColumns = (size: number, choices: number): Columns =>
  new Columns({ observation: [size], reset: [], step: [], ...(choices > 0 && { mask: [choices] }) });

export const actedColumns = ({ policy, added }: Pick<ActSpec, "policy" | "added">): Columns => {
  const { actions, parameters } = policy.distribution;
  return new Columns({
    ...{ actions: [actions], action: [actions], parameters: [parameters] },
    ...(policy.recurrent && { value: [] }),
    ...added,
  });
};

/** One step of the policy for ordinary environments. */
export function actProgram(spec: OrdinarySpec, seen: Columns, acted: Columns, options: CompileOptions) {
  const { packing } = spec;
  return compile(
    (
      params: readonly Value[],
      running: readonly Value[],
      memory: Named,
      numbers: Value,
      key: Value,
      ramps: Value | null,
    ) => {
      const rows = np.reshape(numbers, [-1, seen.width]);
      const step = np.slice(seen.field(rows, "step"), 0).astype("i32");
      const done = act(spec.act, {
        params: packing.params.unpack(params),
        observation: spec.finish.sides.seen(packing.running.unpack(running), seen.field(rows, "observation")),
        memory,
        reset: np.notEqual(seen.field(rows, "reset"), 0),
        mask: seen.has("mask") ? np.notEqual(seen.field(rows, "mask"), 0) : undefined,
        key: random.foldIn(key, step),
        weights: spec.learn.rates.at(ramps, np.zeros([], { dtype: "i32" })),
      });
      return {
        rows: acted.pack({ ...done.fields, actions: done.actions }),
        memory: done.memory,
      };
    },
    { ...options, name: "act" },
  );
}

/** A rollout of ordinary environments that is over. `rows` has one step more: what is seen after it. */
export function finishProgram(spec: OrdinarySpec, options: CompileOptions) {
  const { packing } = spec;
  const { sizes, layout } = spec.finish;
  return compile(
    (params: readonly Value[], running: readonly Value[], rows: Value, memories: readonly Named[]) => {
      const all = np.reshape(rows, [sizes.steps + 1, sizes.rows, layout.gathered.width]);
      const [table, end] = [np.slice(all, [0, sizes.steps]), np.slice(all, sizes.steps)];
      const last = (name: string): Value => layout.gathered.field(end, name);
      const memory = treeMap((...parts: Value[]) => np.stack(parts), ...(memories as [Named]));
      const before = packing.running.unpack(running);
      const thought = inHindsight(
        { ...spec.finish, policy: spec.act.policy },
        packing.params.unpack(params),
        before,
        table,
        { observation: last("observation"), value: layout.gathered.has("value") ? last("value") : undefined },
      );
      const [found, next] = finish(spec.finish, table, thought, memory, before);
      return {
        running: packing.running.pack(next),
        gathered: packing.gathered.pack(found),
        halted: np.zeros([]),
      };
    },
    { ...options, name: "finish" },
  );
}

/** The columns of what an update call is asked for. */
export const askedColumns = ["from", "count", "updates", "rollout"] as const;

/** Updates from experience that is there, one or many in a call. `rows` says where each reported value stands. */
export function learnProgram(spec: OrdinarySpec, options: CompileOptions) {
  const { packing } = spec;
  return compile(
    (
      params: readonly Value[],
      state: readonly Value[],
      gathered: readonly Value[],
      halted: Value,
      first: Value,
      keys: Value,
      asked: Value,
      rows: Value,
      ramps: Value | null,
    ) => {
      const reported: ValueNames = { names: [] };
      const at = (name: (typeof askedColumns)[number]): Value => np.slice(asked, askedColumns.indexOf(name));
      const [next, found, values] = learn(
        spec.learn,
        { params: packing.params.unpack(params), state: packing.state.unpack(state), halted, first },
        packing.gathered.unpack(gathered),
        {
          ...{ from: at("from"), count: at("count"), updates: at("updates"), rollout: at("rollout") },
          row: np.zeros([], { dtype: "i32" }),
        },
        ramps,
        { order: np.slice(keys, 1), losses: np.slice(keys, 2) },
        reported,
      );
      const table = np.reshape(values, [-1, values.shape[2] as number]);
      const picked = spec.learn.loops ? np.take(table, rows, { axis: 0 }) : table;
      return {
        params: packing.params.pack(next.params),
        state: packing.state.pack(next.state),
        halted: next.halted,
        first: next.first,
        // What does not change need not come back.
        gathered: spec.learn.correct ? packing.gathered.pack(found) : null,
        values: Object.fromEntries(reported.names.map((name, i) => [name, np.slice(picked, ":", i)])),
      };
    },
    { ...options, name: "the training program" },
  );
}
