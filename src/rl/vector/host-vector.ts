import { EspalierError } from "../../core/index.ts";
import type { StateTree } from "../../state/index.ts";
import { meansAnother } from "../environments/registry.ts";
import type { Space } from "../spaces/space.ts";
import { checkActions } from "./actions.ts";
import type { Description } from "./description.ts";
import { EndedEpisodes } from "./episodes.ts";
import type { Memory } from "./memory.ts";
import { environmentSeed } from "./seeds.ts";
import type { Part, Stepper } from "./stepper.ts";
import type { EpisodeEnd, VectorEnvironment } from "./vector.ts";
import { checkState, packRows, unpackRows } from "./vector-state.ts";

/** The vector of environments that run as ordinary code, wherever they are stepped. */
export class HostVector implements VectorEnvironment {
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
  readonly #onRestart: ((error: EspalierError) => void) | undefined;
  readonly #actionSize: number;
  readonly #episodes = new EndedEpisodes();
  readonly #ignored = (row: number): boolean => (this.terminated[row] || this.truncated[row]) !== 0;
  #seed: number | undefined;
  #step = 0;
  /** Why it cannot step before it is reset or given a state. */
  #stopped: unknown = notBegun();
  #closed = false;
  #toldOutside = false;

  constructor(
    description: Description,
    outputs: Memory,
    stepper: Stepper,
    {
      onRestart,
      make,
    }: {
      readonly onRestart: ((error: EspalierError) => void) | undefined;
      /** Where the environments came from: a name, or something else. */
      readonly make: unknown;
    },
  ) {
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
    // What is no seed is refused before anything is forgotten.
    environmentSeed(seed, 0, 0);
    this.#stepper.revive();
    this.#seed = seed;
    this.#step = 0;
    this.#episodes.take();
    this.#stepper.infos.take();
    this.restarts.fill(0);
    for (const part of this.#stepper.parts) for (let i = 0; i < part.count; i++) this.#giveSeeds(part, i, 0);
    this.#stopped = undefined;
    this.#stopping(() => this.#stepper.begin());
  }

  step(actions: Float32Array): void {
    this.#checkOpen();
    if (this.#stopped !== undefined) throw this.#stopped;
    checkActions(this.actionSpace, this.#actionSize, actions, this.rows, this.#ignored);
    this.#step++;
    this.#acting = actions;
    this.#stopping(this.#act);
    this.#episodes.collect(this, this.#stepper.parts);
  }

  ended(): readonly EpisodeEnd[] {
    return this.#episodes.take();
  }

  infos(): Readonly<Record<string, number>> {
    return this.#stepper.infos.take();
  }

  getState(): StateTree {
    this.#checkOpen();
    const begun = this.#seed !== undefined;
    if (begun && this.#stopped !== undefined) throw this.#stopped;
    const infos = this.#stepper.infos.copy();
    return {
      name: this.name,
      seed: this.#seed ?? null,
      step: this.#step,
      ended: this.#episodes.copy(),
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
    this.#episodes.replace(ended);
    this.#stepper.infos.replace(infos);
    unpackRows(rows, this.#outputs, this.#stepper.parts);
    this.#stopped = seed === null ? notBegun() : undefined;
    if (seed === null) return;
    for (const part of this.#stepper.parts) {
      part.memory.step[0] = step;
      for (let i = 0; i < part.count; i++) this.#giveSeeds(part, i, part.memory.restarts[i] as number);
    }
    this.#stopping(() => this.#stepper.restore(environments));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stepper.close();
  }

  #acting: Float32Array = new Float32Array();
  // Made once, because a step makes nothing.
  readonly #act = (): void => {
    for (const { memory } of this.#stepper.parts) memory.step[0] = this.#step;
    this.#stepper.step(this.#acting);
  };

  /** After an error nobody knows what the environments are in: it is raised again until they begin anew. */
  #stopping(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#stopped = error;
      throw error;
    } finally {
      if (this.#stepper.restarts.length > 0) this.#tellRestarts();
      if (this.#stepper.outside.length > 0) this.#tellOutside();
    }
  }

  #tellRestarts(): void {
    for (const { index, error } of this.#stepper.restarts.splice(0)) {
      const part = this.#stepper.parts.find(({ first, count }) => index < first + count) as Part;
      this.restarts[index] = part.memory.restarts[index - part.first] as number;
      this.#giveSeeds(part, index - part.first, this.restarts[index] as number);
      this.#onRestart?.(error);
    }
  }

  /** Once, however many threads found one. */
  #tellOutside(): void {
    const [text] = this.#stepper.outside.splice(0);
    if (!this.#toldOutside && text) process.emitWarning(text, { code: "OBSERVATION_OUTSIDE" });
    this.#toldOutside = true;
  }

  #giveSeeds({ first, memory }: Part, i: number, restarts: number): void {
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

const notBegun = (): EspalierError =>
  new EspalierError("ENVIRONMENT_NOT_RESET", "the environments have not begun", {
    fix: "call reset(seed) before step(actions)",
  });
