import { actionSize, flatSize } from "../spaces/index.ts";
import type { VectorEnvironment } from "../vector/vector.ts";
import type { Columns } from "./columns.ts";
import type { Layout, Sizes } from "./layout.ts";

export interface RolloutTableSpec {
  readonly sizes: Sizes;
  readonly layout: Layout;
  readonly seen: Columns;
  readonly acted: Columns;
}

/**
 * What a rollout of ordinary environments leaves behind, on the host: one row a step and row of the vector, in the
 * columns that the device takes at its end. Filled in place, step by step, without making anything.
 */
export class RolloutTable {
  /** [steps + 1, rows, columns]; of the last step only what is seen, and the value of a policy that remembers. */
  readonly numbers: Float32Array;
  readonly #environment: VectorEnvironment;
  readonly #spec: RolloutTableSpec;
  readonly #seen: Float32Array;
  readonly #actions: Float32Array;
  readonly #size: number;
  readonly #actionSize: number;

  constructor(environment: VectorEnvironment, spec: RolloutTableSpec) {
    const { sizes, layout, seen } = spec;
    this.#environment = environment;
    this.#spec = spec;
    this.#size = flatSize(environment.observationSpace);
    this.#actionSize = actionSize(environment.actionSpace);
    this.numbers = new Float32Array((sizes.steps + 1) * sizes.rows * layout.gathered.width);
    this.#seen = new Float32Array(sizes.rows * seen.width);
    this.#actions = new Float32Array(sizes.rows * this.#actionSize);
  }

  /** What rows see before step t, as the policy takes it; noted in the table too. */
  look(t: number): Float32Array {
    const { seen, sizes, layout } = this.#spec;
    const { gathered } = layout;
    const { observations, resets, actionMasks } = this.#environment;
    const [size, width] = [this.#size, gathered.width];
    const choices = actionMasks ? actionMasks.length / sizes.rows : 0;
    for (let row = 0; row < sizes.rows; row++) {
      const to = row * seen.width;
      const noted = (t * sizes.rows + row) * width;
      const observed = noted + gathered.at("observation");
      for (let i = 0; i < size; i++) {
        const x = observations[row * size + i] as number;
        this.#seen[to + i] = x;
        this.numbers[observed + i] = x;
      }
      const reset = resets[row] as number;
      this.#seen[to + seen.at("reset")] = reset;
      this.#seen[to + seen.at("step")] = t;
      this.numbers[noted + gathered.at("reset")] = reset;
      if (actionMasks)
        for (let i = 0; i < choices; i++) {
          const allowed = actionMasks[row * choices + i] as number;
          this.#seen[to + seen.at("mask") + i] = allowed;
          this.numbers[noted + gathered.at("mask") + i] = allowed;
        }
    }
    return this.#seen;
  }

  /** Notes what the policy gave at step t; returns the actions for the environments. */
  act(t: number, given: Float32Array): Float32Array {
    const { acted, sizes, layout } = this.#spec;
    const { gathered } = layout;
    // Both have the same fields in the same order, but for the actions that come first here.
    const [from, to] = [acted.at("action"), gathered.at("action")];
    const count = acted.width - from;
    for (let row = 0; row < sizes.rows; row++) {
      const source = row * acted.width;
      for (let i = 0; i < this.#actionSize; i++)
        this.#actions[row * this.#actionSize + i] = given[source + i] as number;
      const target = (t * sizes.rows + row) * gathered.width + to;
      for (let i = 0; i < count; i++) this.numbers[target + i] = given[source + from + i] as number;
    }
    return this.#actions;
  }

  /** Notes what step t led to. */
  note(t: number): void {
    const { sizes, layout } = this.#spec;
    const { gathered } = layout;
    const { rewards, terminated, truncated, resets } = this.#environment;
    const [reward, over] = [gathered.at("reward"), gathered.at("terminated")];
    const [cut, valid] = [gathered.at("truncated"), gathered.at("valid")];
    for (let row = 0; row < sizes.rows; row++) {
      const at = (t * sizes.rows + row) * gathered.width;
      this.numbers[at + reward] = rewards[row] as number;
      this.numbers[at + over] = terminated[row] as number;
      this.numbers[at + cut] = truncated[row] as number;
      this.numbers[at + valid] = 1 - (resets[row] as number);
    }
  }
}
