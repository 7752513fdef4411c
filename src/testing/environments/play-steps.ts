import { RandomStreams } from "../../random/index.ts";
import {
  actionSize,
  type Environment,
  flatSize,
  type Reset,
  type SpaceValue,
  sampleSpace,
  writeAction,
  writeFlat,
} from "../../rl/index.ts";
import type { StateTree } from "../../state/index.ts";

/** Steps of an ordinary environment one after the other, in rows. */
interface PlayedSteps {
  /** Before each step. */
  readonly states: Float32Array;
  readonly actions: Float32Array;
  /** Results of the steps: one row per step. `before` is the observation it acted on. */
  readonly results: Readonly<Record<string, Float32Array>>;
}

interface PlayOptions {
  readonly steps: number;
  readonly seed: number;
  readonly state: (saved: StateTree) => Float32Array;
  /** Begins episodes. Default: by `reset`, lessons taking turns. */
  readonly begin?: (environment: Environment) => Reset<SpaceValue | readonly SpaceValue[]>;
}

/** Plays an environment with random actions that its masks allow. */
export function playSteps(environment: Environment, options: PlayOptions): PlayedSteps {
  const { steps, seed, state } = options;
  const { actionSpace, observationSpace, agents = 1, lessons } = environment;
  const stream = new RandomStreams(seed).get("actions");
  const each = <T>(x: T | readonly T[]): readonly T[] => (agents > 1 ? (x as readonly T[]) : [x as T]);
  const seen = (observation: SpaceValue | readonly SpaceValue[]): Float32Array => {
    const row = new Float32Array(agents * flatSize(observationSpace));
    let end = 0;
    for (const one of each(observation)) end = writeFlat(observationSpace, one, row, end);
    return row;
  };
  const states: Float32Array[] = [];
  const actions: Float32Array[] = [];
  const results: Record<string, Float32Array[]> = {};
  const keep = (part: string, row: ArrayLike<number>): void => {
    const rows = results[part] ?? [];
    rows.push(Float32Array.from(row));
    results[part] = rows;
  };
  let episodes = 0;
  const begin =
    options.begin ??
    (() =>
      environment.reset({ ...(episodes === 0 && { seed }), lesson: episodes++ % (lessons?.length ?? 1) }));
  let now = begin(environment);
  for (let t = 0; t < steps; t++) {
    const mask = (agent: number): Uint8Array | undefined => {
      const size = (now.actionMask?.length ?? 0) / agents;
      return now.actionMask?.subarray(agent * size, (agent + 1) * size);
    };
    const chosen = Array.from({ length: agents }, (_, i) => sampleSpace(actionSpace, stream, mask(i)));
    const row = new Float32Array(agents * actionSize(actionSpace));
    let end = 0;
    for (const one of chosen) end = writeAction(actionSpace, one, row, end);
    states.push(state(environment.getState()));
    actions.push(row);
    keep("before", seen(now.observation));
    const next = environment.step(agents > 1 ? chosen : (chosen[0] as SpaceValue));
    keep("observation", seen(next.observation));
    keep("reward", each(next.reward));
    keep("terminated", [next.terminated ? 1 : 0]);
    keep("truncated", [next.truncated ? 1 : 0]);
    if (next.actionMask) keep("mask", next.actionMask);
    keep("state", state(environment.getState()));
    now = next.terminated || next.truncated ? begin(environment) : next;
  }
  return {
    states: joined(states),
    actions: joined(actions),
    results: Object.fromEntries(Object.entries(results).map(([part, rows]) => [part, joined(rows)])),
  };
}

function joined(rows: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(rows.reduce((sum, row) => sum + row.length, 0));
  let end = 0;
  for (const row of rows) {
    all.set(row, end);
    end += row.length;
  }
  return all;
}
