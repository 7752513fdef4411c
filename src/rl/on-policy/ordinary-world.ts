import { compile, type Tensor } from "../../engine/index.ts";
import { RampNumbers, TensorState } from "../../learner/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Request } from "../../trainer/index.ts";
import { choices, flatSize } from "../spaces/index.ts";
import type { EpisodeEnd, VectorEnvironment } from "../vector/vector.ts";
import type { Counts } from "./counts.ts";
import { episodeValues, infoValues, lessonResults } from "./episodes.ts";
import { LessonDraw } from "./lesson-draw.ts";
import { type CallLosses, perLosses } from "./loss-programs.ts";
import {
  actedColumns,
  actProgram,
  finishProgram,
  learnProgram,
  type OrdinarySpec,
  seenColumns,
} from "./ordinary-programs.ts";
import { RolloutTable } from "./rollout-table.ts";
import type { Done, Runner, RunnerParts } from "./runner.ts";
import type { SetUp } from "./setup.ts";
import { placesOf, type Stretch } from "./stretch.ts";

type Memory = { readonly [name: string]: Tensor | Memory };

/** Ordinary environments: the policy acts on the device, the environments step here. */
export function ordinaryWorld(
  parts: SetUp,
  environment: VectorEnvironment,
  shared: RunnerParts,
  counts: Counts,
): Runner {
  const { sizes, updateEpochs, layout, on, policy, params, state, donated } = parts;
  const { running, experience, halted } = shared;
  const { curriculum } = parts.options;
  const updates = updateEpochs * sizes.minibatches;
  const masked = environment.actionMasks ? choices(environment.actionSpace) : 0;
  const seen = seenColumns(flatSize(environment.observationSpace), masked);
  const acted = actedColumns({ policy, added: shared.added });
  const table = new RolloutTable(environment, { sizes, layout, seen, acted });
  const lessons = new LessonDraw(
    environment,
    curriculum,
    parts.options.lesson === undefined ? undefined : parts.lesson,
  );

  const firstMemory = compile(() => policy.initialState(sizes.rows), { ...on, name: "memory" });
  let memory = firstMemory() as Memory;
  /** Memory that was saved, where it is used. */
  const placed = (saved: StateTree): Memory => {
    const state = new TensorState("memory", firstMemory(), {
      device: parts.device,
      donated: true,
      lent: false,
    });
    state.setState(saved);
    return state.getState() as Memory;
  };
  let begun = false;
  const begin = (): void => {
    if (begun) return;
    lessons.draw(counts.rolloutKey());
    environment.reset(shared.worldKey[0] as number);
    begun = true;
  };

  const made = (losses: CallLosses) => {
    const spec: OrdinarySpec = {
      act: { policy, objective: parts.objective, losses: losses.rollout, added: shared.added },
      finish: parts.finishSpec,
      learn: parts.learnSpec(losses.train),
      packing: {
        ...{ params: params.packing, state: state.packing },
        ...{ running: running.packing, gathered: experience.packing },
      },
    };
    const options = { ...on, ...shared.compileOptions() };
    return {
      act: actProgram(spec, seen, acted, options),
      finish: finishProgram(spec, { ...options, ...(donated && { donate: [1] }) }),
      learn: learnProgram(spec, { ...options, ...(donated && { donate: [0, 1] }) }),
      rollout: new RampNumbers(parts.rates.names, 1, options),
      train: new RampNumbers(parts.rates.names, updates, options),
    };
  };
  const programsFor = perLosses(made);
  type Programs = ReturnType<typeof made>;

  const rollOut = ({ act, finish, rollout }: Programs, ramps: Request["ramps"]) => {
    begin();
    const numbers = rollout.tensor(ramps, 1);
    const key = parts.put(counts.rolloutKey());
    lessons.start(counts.rolloutKey());
    const memories: Memory[] = [];
    const [weights, known] = [params.now, running.now];
    const step = (t: number): Tensor => {
      const next = act(weights, known, memory as never, table.look(t), key, numbers);
      if (t < sizes.steps) memory = next.memory as Memory;
      return next.rows;
    };
    for (let t = 0; t < sizes.steps; t++) {
      if (t % sizes.segment === 0) memories.push(memory);
      const rows = step(t);
      environment.step(table.act(t, rows.readSync() as Float32Array));
      rows.dispose();
      table.note(t);
      lessons.next();
    }
    if (policy.recurrent) {
      const rows = step(sizes.steps);
      table.act(sizes.steps, rows.readSync() as Float32Array);
      rows.dispose();
    } else table.look(sizes.steps);
    key.dispose();
    counts.rollouts++;
    const found = finish(params.now, running.now, table.numbers, memories as never);
    running.replace(found.running as never);
    experience.add(found.gathered);
    halted.replace([found.halted]);
  };

  const asked = new Int32Array(4);
  const places = new Int32Array(updates);
  const learn = (
    { learn: program, train }: Programs,
    { from, count, row }: Stretch,
    ramps: Request["ramps"],
  ) => {
    asked.set([from, count, counts.updates % 2 ** 31, (counts.rollouts - 1) % 2 ** 31]);
    places.set(placesOf({ from, count }, sizes.minibatches));
    const own = Object.fromEntries(
      Object.entries(ramps).map(([name, all]) => [name, all.subarray(row, row + count)]),
    );
    const numbers = train.tensor(own, count);
    const next = program(
      params.now,
      state.now,
      experience.sample(),
      halted.now[0] as Tensor,
      shared.nonFinite.now,
      counts.keys,
      asked,
      places,
      numbers,
    );
    params.replace(next.params);
    state.replace(next.state);
    halted.replace([next.halted]);
    if (next.gathered) experience.add(next.gathered as readonly Tensor[]);
    const nonFinite = shared.nonFinite.replace(next.first, counts.updates % 2 ** 31);
    counts.updates += count;
    return { values: next.values as Readonly<Record<string, Tensor>>, nonFinite };
  };

  const tensors = (figures: Readonly<Record<string, number>>): Readonly<Record<string, Tensor>> =>
    Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [name, parts.put(Float32Array.of(value))]),
    );

  return {
    components: {
      environments: {
        getState: (): StateTree => {
          begin();
          return {
            vector: environment.getState(),
            memory: memory as StateTree,
            lessons: lessons.getState(),
          };
        },
        setState: (saved) => {
          const { vector, memory: before, lessons: drawn } = saved as Readonly<Record<string, StateTree>>;
          environment.setState(vector as StateTree);
          memory = placed(before as StateTree);
          lessons.setState(drawn as StateTree);
          begun = true;
        },
      },
    },
    maxFuse: parts.loops ? updates + 1 : 1,
    fusesEpochs: false,
    restart: () => {
      begun = false;
      memory = firstMemory() as Memory;
    },
    run: ({ ramps }, [stretch], losses): Done => {
      const { rollouts, row, count } = stretch as Stretch;
      const programs = programsFor(losses);
      const ended: EpisodeEnd[] = [];
      let figures: Readonly<Record<string, number>> = {};
      if (rollouts > 0) {
        rollOut(programs, ramps);
        ended.push(...environment.ended());
        figures = { ...episodeValues(ended), ...infoValues(environment.infos?.()) };
      }
      const learned =
        count > 0 ? learn(programs, { ...(stretch as Stretch), row: row + rollouts }, ramps) : { values: {} };
      return {
        ...learned,
        rollout: tensors(figures),
        counted: { episodes: rollouts > 0 ? [ended.length] : [], lessons: lessonResults(ended), figures },
      };
    },
  };
}
