import { EspalierError, emitWarning } from "../../core/index.ts";
import { hostRandom } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import { meansAnother } from "../environments/registry.ts";
import type { Space } from "../spaces/space.ts";
import { checkActions } from "./actions.ts";
import type { Description } from "./make-environments.ts";
import { episodeKeys, type Memory, resultKeys } from "./memory.ts";
import type { EpisodeEnd, RestartingVector } from "./vector.ts";

/** Some neighbouring environments of a vector, and their memory. */
export interface VectorPart {
  readonly first: number;
  readonly count: number;
  readonly memory: Memory;
}

/** An environment that was made again, by its index in the vector. */
export interface Restart {
  readonly index: number;
  readonly error: EspalierError;
}

/** Steps the environments of a vector, in this thread or in others. */
export interface Stepper {
  readonly parts: readonly VectorPart[];
  /** Environments that were made again. The vector empties it. */
  readonly restarts: Restart[];
  /** Numbers that steps had in their `info`. */
  readonly infos: InfoSums;
  /** A warning about an observation outside its bounds. The vector empties it. */
  readonly outOfBounds: string[];
  /** Replaces threads that were lost, so that there is memory to fill before `begin` or `restore`. */
  revive(): void;
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
  readonly stepper: Stepper;
  readonly onRestart: ((error: EspalierError) => void) | undefined;
  /** The `make` option: a name, or anything else. */
  readonly make: unknown;
}

/** The vector of environments that run as ordinary code, in whatever threads. */
export class HostVector implements RestartingVector {
  readonly name: string;
  readonly unlikeNamed: boolean;
  readonly count: number;
  readonly agents: number;
  readonly rows: number;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly lessons: readonly string[] | undefined;
  readonly observations: Float32Array;
  readonly rewards: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly resets: Uint8Array;
  readonly actionMasks: Uint8Array | undefined;
  readonly nextLessons: Int32Array;
  readonly restarts: Int32Array;
  readonly #outputs: Memory;
  readonly #stepper: Stepper;
  readonly #onRestart: (error: EspalierError) => void;
  readonly #actionSize: number;
  readonly #isOver = (row: number): boolean => (this.terminated[row] || this.truncated[row]) !== 0;
  #ended: EpisodeEnd[] = [];
  #seed: number | undefined;
  #step = 0;
  /** Why it cannot step before it is reset or restored. */
  #stopped: unknown = notReset();
  #closed = false;
  #warnedOfBounds = false;

  constructor({ description, outputs, stepper, onRestart = warnOfRestart, make }: HostVectorOptions) {
    this.name = description.name;
    this.unlikeNamed = typeof make !== "string" && meansAnother(description.name, make);
    this.count = outputs.lengths.length;
    this.agents = description.agents;
    this.rows = outputs.rewards.length;
    this.observationSpace = description.observationSpace;
    this.actionSpace = description.actionSpace;
    this.lessons = description.lessons;
    this.observations = outputs.observations;
    this.rewards = outputs.rewards;
    this.terminated = outputs.terminated;
    this.truncated = outputs.truncated;
    this.resets = outputs.resets;
    this.actionMasks = description.masked ? outputs.actionMasks : undefined;
    this.nextLessons = outputs.nextLessons;
    this.restarts = outputs.restarts;
    this.#outputs = outputs;
    this.#stepper = stepper;
    this.#onRestart = onRestart;
    this.#actionSize = outputs.actions.length / this.rows;
  }

  reset(seed: number): void {
    this.#checkOpen();
    // An invalid seed is refused before anything changes.
    environmentSeed(seed, 0, 0);
    this.#stepper.revive();
    this.#seed = seed;
    this.#step = 0;
    this.#ended = [];
    this.#stepper.infos.take();
    this.restarts.fill(0);
    for (const part of this.#stepper.parts) for (let i = 0; i < part.count; i++) this.#writeSeeds(part, i, 0);
    this.#stopped = undefined;
    this.#guard(() => this.#stepper.begin());
  }

  step(actions: Float32Array): void {
    this.#checkOpen();
    if (this.#stopped !== undefined) throw this.#stopped;
    checkActions(this.actionSpace, this.#actionSize, actions, this.rows, this.#isOver);
    this.#step++;
    this.#actions = actions;
    this.#guard(this.#stepAll);
    this.#collectEnded();
  }

  #actions: Float32Array = new Float32Array();
  // Made once, because a step allocates nothing.
  readonly #stepAll = (): void => {
    for (const { memory } of this.#stepper.parts) memory.step[0] = this.#step;
    this.#stepper.step(this.#actions);
  };

  #collectEnded(): void {
    const { agents, terminated, truncated } = this;
    for (const { first, count, memory } of this.#stepper.parts)
      for (let i = 0; i < count; i++) {
        const row = (first + i) * agents;
        if (!terminated[row] && !truncated[row]) continue;
        for (let agent = 0; agent < agents; agent++)
          this.#ended.push({
            environment: first + i,
            agent,
            return: memory.returns[i * agents + agent] as number,
            length: memory.lengths[i] as number,
            lesson: memory.lessons[i] as number,
            terminated: terminated[row] === 1,
          });
      }
  }

  ended(): readonly EpisodeEnd[] {
    if (this.#ended.length === 0) return none;
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  infos(): Readonly<Record<string, number>> {
    return this.#stepper.infos.take();
  }

  getState(): StateTree {
    this.#checkOpen();
    const begun = this.#seed !== undefined;
    if (begun && this.#stopped !== undefined) throw this.#stopped;
    const infos = this.#stepper.infos.getState();
    return {
      name: this.name,
      seed: this.#seed ?? null,
      step: this.#step,
      ended: this.#ended.map((end) => ({ ...end })),
      ...(infos !== undefined && { infos }),
      rows: packRows(this.#outputs, this.#stepper.parts),
      environments: begun ? this.#stepper.states() : [],
    };
  }

  setState(state: StateTree): void {
    this.#checkOpen();
    const { seed, step, ended, infos, rows, environments } = checkState(state, this.name, this.#outputs);
    this.#stepper.revive();
    this.#seed = seed ?? undefined;
    this.#step = step;
    this.#ended = ended.map((end) => ({ ...end }));
    this.#stepper.infos.setState(infos);
    unpackRows(rows, this.#outputs, this.#stepper.parts);
    this.#stopped = seed === null ? notReset() : undefined;
    if (seed === null) return;
    for (const part of this.#stepper.parts) {
      part.memory.step[0] = step;
      for (let i = 0; i < part.count; i++) this.#writeSeeds(part, i, part.memory.restarts[i] as number);
    }
    this.#guard(() => this.#stepper.restore(environments));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stepper.close();
  }

  /** Runs `work`. After an error the environments' states are undefined: it is raised again until a reset or restore. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#stopped = error;
      throw error;
    } finally {
      if (this.#stepper.restarts.length > 0) this.#reportRestarts();
      if (this.#stepper.outOfBounds.length > 0) this.#reportOutOfBounds();
    }
  }

  #reportRestarts(): void {
    for (const { index, error } of this.#stepper.restarts.splice(0)) {
      const part = this.#stepper.parts.find(({ first, count }) => index < first + count) as VectorPart;
      this.restarts[index] = part.memory.restarts[index - part.first] as number;
      this.#writeSeeds(part, index - part.first, this.restarts[index] as number);
      this.#onRestart(error);
    }
  }

  /** Warns once, however many threads found one. */
  #reportOutOfBounds(): void {
    const [text] = this.#stepper.outOfBounds.splice(0);
    if (!this.#warnedOfBounds && text) emitWarning(text, "OBSERVATION_OUTSIDE");
    this.#warnedOfBounds = true;
  }

  #writeSeeds({ first, memory }: VectorPart, i: number, restarts: number): void {
    memory.seeds[2 * i] = environmentSeed(this.#seed as number, first + i, restarts);
    memory.seeds[2 * i + 1] = environmentSeed(this.#seed as number, first + i, restarts + 1);
  }

  #checkOpen(): void {
    if (!this.#closed) return;
    throw new EspalierError("ENVIRONMENT_CLOSED", `the vector of ${this.name} has been closed`, {
      fix: "make another one",
    });
  }
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

interface Sum {
  total: number;
  count: number;
}

/**
 * Sums of the numbers that steps had in their `info`, by name and environment. They are added up environment by
 * environment, so that the number of threads changes no bit of a mean.
 */
export class InfoSums {
  /** By name, then by environment. */
  #sums = new Map<string, Sum[]>();

  add(environment: number, info: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(info)) {
      const sum = this.#sumOf(name, environment);
      sum.total += value;
      sum.count++;
    }
  }

  #sumOf(name: string, environment: number): Sum {
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
    this.#sums = new Map();
    return Object.fromEntries(means.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** undefined if there are none. */
  getState(): StateTree | undefined {
    if (this.#sums.size === 0) return undefined;
    const rows = [...this.#sums].flatMap(([name, all]) =>
      all.flatMap(({ total, count }, environment) => ({ name, environment, total, count })),
    );
    return rows.sort((a, b) => a.environment - b.environment || (a.name < b.name ? -1 : 1));
  }

  setState(rows: readonly InfoRow[] = []): void {
    this.#sums = new Map();
    for (const { name, environment, total, count } of rows)
      Object.assign(this.#sumOf(name, environment), { total, count });
  }
}

interface InfoRow extends Readonly<Sum> {
  readonly name: string;
  readonly environment: number;
}

type RowArray = Uint8Array | Float32Array | Float64Array | Int32Array;

/** The state of a vector: everything its future depends on. */
interface VectorState {
  readonly name: string;
  /** null before the first reset. */
  readonly seed: number | null;
  readonly step: number;
  readonly ended: readonly EpisodeEnd[];
  /** Missing if no step had numbers in its `info` since they were last taken. */
  readonly infos?: readonly InfoRow[];
  readonly rows: Readonly<Record<string, RowArray>>;
  readonly environments: readonly StateTree[];
}

/** Kept in the vector's outputs: results of the last step, and the lessons that the caller wrote. */
const outputKeys = [...resultKeys, "nextLessons"] as const;

/** Copies all rows, put together from the parts. */
function packRows(outputs: Memory, parts: readonly VectorPart[]): VectorState["rows"] {
  const count = outputs.lengths.length;
  const packed: Record<string, RowArray> = {};
  // There are no action masks in a vector without them.
  for (const key of outputKeys) if (outputs[key].length > 0) packed[key] = outputs[key].slice();
  for (const key of episodeKeys) {
    const whole = outputs[key].slice();
    for (const { first, memory } of parts) whole.set(memory[key], (whole.length / count) * first);
    packed[key] = whole;
  }
  return packed;
}

/** Writes packed rows into the outputs and the parts. */
function unpackRows(rows: VectorState["rows"], outputs: Memory, parts: readonly VectorPart[]): void {
  const total = outputs.lengths.length;
  for (const key of [...outputKeys, ...episodeKeys]) {
    const whole = rows[key];
    if (whole === undefined) continue;
    outputs[key].set(whole);
    const each = whole.length / total;
    for (const { first, count, memory } of parts)
      memory[key].set(whole.subarray(first * each, (first + count) * each));
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
