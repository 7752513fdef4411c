import { EspalierError } from "../../core/index.ts";
import { compile, np, type Tensor, type Value } from "../../engine/index.ts";
import { RampNumbers, TensorState } from "../../learner/index.ts";
import type { Request } from "../../trainer/index.ts";
import { type CompiledRows, compiledRows } from "../vector/compiled-rows.ts";
import { compiledProgram, planColumns } from "./compiled-program.ts";
import type { World } from "./compiled-rollout.ts";
import type { Counts } from "./counts.ts";
import { type CallLosses, perLosses } from "./loss-programs.ts";
import type { CompiledEnvironments } from "./options.ts";
import type { Done, Runner, RunnerParts } from "./runner.ts";
import type { SetUp } from "./setup.ts";
import { placesOf, type Stretch } from "./stretch.ts";

/** Compiled environments: everything that nobody watches is one call. */
export function compiledWorld(
  parts: SetUp,
  environments: CompiledEnvironments,
  shared: RunnerParts,
  counts: Counts,
): Runner {
  const { sizes, updateEpochs, device, donated, on, policy, params, state } = parts;
  const rows = compiledRows(environments.compiled, environments.count);
  const { running, experience } = shared;
  // One more than epochs, because a call may begin in the middle of one.
  const capacity = (parts.options.maxEpochs ?? 32) + 1;
  const updates = updateEpochs * sizes.minibatches;

  const begin = compile(
    (key: Value, shares: Value | null): World => ({
      rows: rows.init(key, shares ?? undefined),
      memory: policy.initialState(sizes.rows),
      reset: np.ones([sizes.rows], { dtype: "bool" }),
    }),
    { ...on, name: "begin" },
  );
  const { curriculum } = parts.options;
  /** All episodes have one lesson: its share is 1. */
  const alone = Float32Array.from({ length: rows.lessons }, (_, i) => (i === parts.lesson ? 1 : 0));
  let shares: { readonly numbers: Float32Array; readonly tensor: Tensor } | undefined;
  const sharesNow = (): Tensor | null => {
    // Without shares all episodes have the first lesson.
    if (!curriculum && parts.lesson === 0) return null;
    const numbers = curriculum?.shares() ?? alone;
    if (shares?.numbers === numbers) return shares.tensor;
    shares?.tensor.dispose();
    shares = { numbers, tensor: parts.put(numbers) };
    return shares.tensor;
  };
  const startOf = (key: Uint32Array) => begin(key, sharesNow());
  const world = new TensorState<World>("environments", startOf(shared.worldKey), {
    device,
    donated,
    lent: false,
  });

  const programFor = perLosses((losses: CallLosses) => {
    const options = { ...on, ...shared.compileOptions(), name: "the training program" };
    const spec = {
      act: { policy, objective: parts.objective, losses: losses.rollout, added: shared.added },
      finish: parts.finishSpec,
      // Loops do not pay for convolutions on a CPU, but this program is one anyway.
      learn: { ...parts.learnSpec(losses.train), loops: true },
      ...{ rows, capacity },
      packing: {
        ...{ params: params.packing, state: state.packing, world: world.packing },
        ...{ running: running.packing, gathered: experience.packing },
      },
    };
    return {
      program: compiledProgram(spec, { ...options, ...(donated && { donate: [0, 1, 2, 3, 4] }) }),
      numbers: new RampNumbers(parts.rates.names, capacity * (updates + 1), options),
    };
  });

  const calls = new Int32Array(1);
  const plan = new Int32Array(capacity * planColumns.length);
  const places = new Int32Array(2 * capacity * updates);

  return {
    components: { environments: world },
    maxFuse: (capacity - 1) * (updates + 1) + 1,
    fusesEpochs: parts.tuner === undefined && curriculum === undefined,
    restart: (key) => {
      world.setState(startOf(key) as never);
    },
    run: (request: Request, stretches: readonly Stretch[], losses): Done => {
      const before = { rollouts: counts.rollouts, updates: counts.updates };
      calls[0] = stretches.length;
      fillPlan(plan, stretches, counts);
      fillPlaces(places, stretches, sizes.minibatches, updates, capacity * updates);
      const { program, numbers } = programFor(losses);
      const next = program(
        ...([
          params.now,
          state.now,
          world.now,
          running.now,
          (stretches[0] as Stretch).rollouts > 0 ? experience.room : experience.sample(),
          shared.halted.now[0] as Tensor,
          shared.nonFinite.now,
        ] as const),
        ...([counts.keys, plan, calls, places, numbers.tensor(request.ramps, request.count)] as const),
        sharesNow(),
      );
      params.replace(next.params);
      state.replace(next.state);
      world.replace(next.world);
      running.replace(next.running as never);
      experience.add(next.gathered);
      shared.halted.replace([next.halted]);
      const nonFinite = shared.nonFinite.replace(next.first, before.updates % 2 ** 31);
      const { lessons, fault, ...rollout } = next.rollout as Readonly<Record<string, Tensor>>;
      return {
        ...{ values: next.values as Readonly<Record<string, Tensor>>, rollout, lessons, nonFinite },
        fault: fault && {
          found: fault,
          error: (index, code) => notFinite(rows, (before.rollouts + index) * sizes.steps, code),
        },
      };
    },
  };
}

function fillPlan(plan: Int32Array, stretches: readonly Stretch[], counts: Counts): void {
  let { rollouts, updates } = counts;
  stretches.forEach(({ rollouts: here, from, count, row }, e) => {
    rollouts += here;
    // The rollout that updates belong to is the last one, by its index.
    plan.set([here, (rollouts - 1) % 2 ** 31, from, count, updates % 2 ** 31, row], e * planColumns.length);
    updates += count;
  });
  counts.rollouts = rollouts;
  counts.updates = updates;
}

/** Where reported values stand: of updates in the first half, of rollouts in the second. */
function fillPlaces(
  places: Int32Array,
  stretches: readonly Stretch[],
  minibatches: number,
  updates: number,
  half: number,
): void {
  let [train, rollout] = [0, half];
  stretches.forEach((stretch, e) => {
    for (const place of placesOf(stretch, minibatches)) places[train++] = e * updates + place;
    if (stretch.rollouts > 0) places[rollout++] = e;
  });
}

/** The error about an environment that gave no number. `steps` are those of the vector before the rollout. */
function notFinite({ environment, agents, rows }: CompiledRows, steps: number, code: number): EspalierError {
  const place = Math.floor(code / 2);
  const [step, row] = [Math.floor(place / rows), place % rows];
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
