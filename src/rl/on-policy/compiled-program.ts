import { treeMap } from "../../core/index.ts";
import { type CompileOptions, compile, np, random, scan, type Value } from "../../engine/index.ts";
import type { Packing } from "../../learner/index.ts";
import type { Params } from "../../nn/index.ts";
import type { OptimizerState } from "../../optim/index.ts";
import { type RolloutSpec, rollOut, type World } from "./compiled-rollout.ts";
import { type Gathered, type LearnSpec, learn, type ValueNames } from "./learn.ts";
import type { Packs, Running } from "./sides.ts";

export interface CompiledSpec extends RolloutSpec {
  readonly learn: LearnSpec;
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
      first: Value,
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
        first,
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
          const learner = {
            params: now.params,
            state: now.state,
            halted: after.halted,
            first: now.first,
          };
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
        first: last.first,
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
