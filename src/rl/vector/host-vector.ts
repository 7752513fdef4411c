import { EspalierError, emitWarning } from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import { meansAnother } from "../environments/registry.ts";
import { checkActions } from "./actions.ts";
import type { Description } from "./make-environments.ts";
import { episodeKeys, type Memory, partOf, resultKeys } from "./memory.ts";
import { hasEvents, type RowEvents } from "./rows.ts";
import type { EpisodeEnd, RestartingVector } from "./vector.ts";

/** Some neighbouring environments of a vector, and their memory. */
export interface VectorPart {
  readonly first: number;
  readonly count: number;
  readonly memory: Memory;
}

/** Steps the environments of a vector, in this thread or in others. */
export interface Stepper {
  /** Replaces threads that were lost, so that there is memory to fill before `begin` or `restore`. */
  revive?(): void;
  /** Begins an episode everywhere, from the seeds in memory. */
  begin(): void;
  step(actions: Float32Array): void;
  /** The environments' states in order; null for those that begin with a seed. */
  states(): readonly StateTree[];
  /** Restores environments, after their memory has been filled. */
  restore(states: readonly StateTree[]): void;
  close(): void;
}

interface HostVectorOptions {
  readonly description: Description;
  readonly outputs: Memory;
  readonly parts: readonly VectorPart[];
  readonly stepper: Stepper;
  /** Filled by the stepper. */
  readonly events: RowEvents;
  readonly onRestart: ((error: EspalierError) => void) | undefined;
  /** The `make` option: a name, or anything else. */
  readonly make: unknown;
}

/** The vector of environments that run as ordinary code, in whatever threads. */
export function hostVector(options: HostVectorOptions): RestartingVector {
  const { description, outputs, parts, stepper, events, onRestart = warnOfRestart, make } = options;
  const { name, observationSpace, actionSpace, agents, lessons, masked } = description;
  const { observations, rewards, terminated, truncated, resets, nextLessons, restarts } = outputs;
  const rows = rewards.length;
  const actionSize = outputs.actions.length / rows;
  const infos = new InfoSums();
  let ended: EpisodeEnd[] = [];
  let seed: number | undefined;
  let steps = 0;
  /** Why it cannot step before it is reset or restored. */
  let stopped: unknown = notReset();
  let closed = false;
  let warnedOfBounds = false;
  // Made once, because a step allocates nothing.
  let given: Float32Array = new Float32Array();
  const isOver = (row: number): boolean => (terminated[row] || truncated[row]) !== 0;
  const stepAll = (): void => {
    for (const { memory } of parts) memory.step[0] = steps;
    stepper.step(given);
  };

  const checkOpen = (): void => {
    if (!closed) return;
    throw new EspalierError("ENVIRONMENT_CLOSED", `the vector of ${name} has been closed`, {
      fix: "make another one",
    });
  };
  const writeSeeds = ({ first, memory }: VectorPart, i: number, again: number): void => {
    memory.seeds[2 * i] = environmentSeed(seed as number, first + i, again);
    memory.seeds[2 * i + 1] = environmentSeed(seed as number, first + i, again + 1);
  };
  const report = (): void => {
    for (const { index, info } of events.infos) infos.add(index, info);
    events.infos.length = 0;
    // Once, however many threads found one.
    const [text] = events.outOfBounds.splice(0);
    if (!warnedOfBounds && text) emitWarning(text, "OBSERVATION_OUTSIDE");
    warnedOfBounds ||= text !== undefined;
    for (const { index, error } of events.restarts.splice(0)) {
      const part = parts.find(({ first, count }) => index < first + count) as VectorPart;
      restarts[index] = part.memory.restarts[index - part.first] as number;
      writeSeeds(part, index - part.first, restarts[index] as number);
      onRestart(error);
    }
  };
  /** Runs `work`. After an error the environments' states are undefined: it is raised again until a reset or restore. */
  const guard = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      stopped = error;
      throw error;
    } finally {
      if (hasEvents(events)) report();
    }
  };
  const collectEnded = (): void => {
    for (const { first, count, memory } of parts)
      for (let i = 0; i < count; i++) {
        const row = (first + i) * agents;
        if (!terminated[row] && !truncated[row]) continue;
        for (let agent = 0; agent < agents; agent++)
          ended.push({
            environment: first + i,
            agent,
            return: memory.returns[i * agents + agent] as number,
            length: memory.lengths[i] as number,
            lesson: memory.lessons[i] as number,
            terminated: terminated[row] === 1,
          });
      }
  };

  return {
    name,
    unlikeNamed: typeof make !== "string" && meansAnother(name, make),
    count: outputs.lengths.length,
    agents,
    rows,
    observationSpace,
    actionSpace,
    lessons,
    observations,
    rewards,
    terminated,
    truncated,
    resets,
    actionMasks: masked ? outputs.actionMasks : undefined,
    nextLessons,
    restarts,
    reset: (from) => {
      checkOpen();
      // An invalid seed is refused before anything changes.
      environmentSeed(from, 0, 0);
      stepper.revive?.();
      seed = from;
      steps = 0;
      ended = [];
      infos.take();
      restarts.fill(0);
      for (const part of parts) for (let i = 0; i < part.count; i++) writeSeeds(part, i, 0);
      stopped = undefined;
      guard(() => stepper.begin());
    },
    step: (actions) => {
      checkOpen();
      if (stopped !== undefined) throw stopped;
      checkActions(actionSpace, actionSize, actions, rows, isOver);
      steps++;
      given = actions;
      guard(stepAll);
      collectEnded();
    },
    ended: () => {
      if (ended.length === 0) return none;
      const taken = ended;
      ended = [];
      return taken;
    },
    infos: () => infos.take(),
    getState: () => {
      checkOpen();
      const begun = seed !== undefined;
      if (begun && stopped !== undefined) throw stopped;
      const sums = infos.getState();
      return {
        name,
        seed: seed ?? null,
        step: steps,
        ended: ended.map((end) => ({ ...end })),
        ...(sums.length > 0 && { infos: sums }),
        rows: packRows(outputs, parts),
        environments: begun ? stepper.states() : [],
      };
    },
    setState: (state) => {
      checkOpen();
      const saved = checkState(state, name, outputs);
      stepper.revive?.();
      seed = saved.seed ?? undefined;
      steps = saved.step;
      ended = saved.ended.map((end) => ({ ...end }));
      infos.setState(saved.infos);
      unpackRows(saved.rows, outputs, parts);
      stopped = seed === undefined ? notReset() : undefined;
      if (seed === undefined) return;
      for (const part of parts) {
        part.memory.step[0] = steps;
        for (let i = 0; i < part.count; i++) writeSeeds(part, i, part.memory.restarts[i] as number);
      }
      guard(() => stepper.restore(saved.environments));
    },
    close: () => {
      if (closed) return;
      closed = true;
      stepper.close();
    },
  };
}

const none: readonly EpisodeEnd[] = Object.freeze([]);

const notReset = (): EspalierError =>
  new EspalierError("ENVIRONMENT_NOT_RESET", "the environments have not begun", {
    fix: "call reset(seed) before step(actions)",
  });

const warnOfRestart = (error: EspalierError): void => {
  emitWarning(`${error.message}\n  It has been made again.`, error.code);
};

/** The seed of an environment: from the vector's seed, the environment's index, and how often it was made again. */
export function environmentSeed(seed: number, index: number, restarts: number): number {
  const { hostBits, hostFoldIn, hostKey } = hostRandom;
  return hostBits(hostFoldIn(hostFoldIn(hostKey(seed), index), restarts), 1)[0] as number;
}

type InfoRow = {
  readonly name: string;
  readonly environment: number;
  readonly total: number;
  readonly count: number;
};

/**
 * Sums of the numbers that steps had in their `info`, by environment and name. They are added up environment by
 * environment, so that the number of threads changes no bit of a mean.
 */
class InfoSums {
  /** By name, then by environment. */
  readonly #sums = new Map<string, { total: number; count: number }[]>();

  add(environment: number, info: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(info)) {
      const sum = this.#sumOf(name, environment);
      sum.total += value;
      sum.count++;
    }
  }

  #sumOf(name: string, environment: number) {
    const all = this.#sums.get(name) ?? [];
    this.#sums.set(name, all);
    all[environment] ??= { total: 0, count: 0 };
    return all[environment];
  }

  /** Returns the mean of each name over all steps that had it, and begins again. */
  take(): Readonly<Record<string, number>> {
    if (this.#sums.size === 0) return {};
    const means = [...this.#sums].map(([name, all]): [string, number] => {
      let [total, count] = [0, 0];
      // In their order, without those that had none.
      all.forEach((sum) => {
        total += sum.total;
        count += sum.count;
      });
      return [name, total / count];
    });
    this.#sums.clear();
    return Object.fromEntries(means.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Ordered by environment, then by name. */
  getState(): readonly InfoRow[] {
    const rows = [...this.#sums].flatMap(([name, all]) =>
      all.flatMap((sum, environment) => ({ name, environment, ...sum })),
    );
    return rows.sort((a, b) => a.environment - b.environment || (a.name < b.name ? -1 : 1));
  }

  setState(rows: readonly InfoRow[] = []): void {
    this.#sums.clear();
    for (const { name, environment, total, count } of rows)
      Object.assign(this.#sumOf(name, environment), { total, count });
  }
}

/** The state of a vector: everything its future depends on. */
interface VectorState {
  readonly name: string;
  /** null before the first reset. */
  readonly seed: number | null;
  readonly step: number;
  readonly ended: readonly EpisodeEnd[];
  /** Missing if no step had numbers in its `info` since they were last taken. */
  readonly infos?: readonly InfoRow[];
  readonly rows: Readonly<Record<string, Memory[keyof Memory]>>;
  readonly environments: readonly StateTree[];
}

/** Kept in the vector's outputs: results of the last step, and the lessons that the caller wrote. */
const outputKeys = [...resultKeys, "nextLessons"] as const;

/** Copies all rows, put together from the parts. */
function packRows(outputs: Memory, parts: readonly VectorPart[]): VectorState["rows"] {
  for (const { first, count, memory } of parts) {
    const own = partOf(outputs, first, count);
    for (const key of episodeKeys) own[key].set(memory[key]);
  }
  // There are no action masks in a vector without them.
  const kept = outputKeys.filter((key) => outputs[key].length > 0);
  return Object.fromEntries([...kept, ...episodeKeys].map((key) => [key, outputs[key].slice()]));
}

/** Writes packed rows into the outputs and the parts. */
function unpackRows(rows: VectorState["rows"], outputs: Memory, parts: readonly VectorPart[]): void {
  const keys = [...outputKeys, ...episodeKeys].filter((key) => rows[key] !== undefined);
  for (const key of keys) outputs[key].set(rows[key] as ArrayLike<number>);
  for (const { first, count, memory } of parts) {
    const own = partOf(outputs, first, count);
    for (const key of keys) memory[key].set(own[key]);
  }
}

/** Refuses anything but a state of such a vector. */
function checkState(state: StateTree, name: string, outputs: Memory): VectorState {
  const given = state as Partial<VectorState> | null;
  if (typeof given?.rows !== "object" || !Array.isArray(given.environments) || !Array.isArray(given.ended))
    throw new EspalierError("STATE_INVALID", "this is not a state of a vector of environments", {
      fix: "pass the result of getState() of such a vector",
    });
  for (const key of [...outputKeys, ...episodeKeys]) {
    const [has, needs] = [given.rows[key]?.length ?? 0, outputs[key].length];
    if (has !== needs)
      throw new EspalierError(
        "STATE_INVALID",
        `the state is of ${given.rows.lengths?.length} environments "${given.name}" with ${has} ` +
          `${key}, and this vector is of ${outputs.lengths.length} "${name}" with ${needs}`,
        { fix: "restore into a vector of as many of the same environments" },
      );
  }
  return given as VectorState;
}
