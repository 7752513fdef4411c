import { EspalierError } from "../../core/index.ts";
import { read, type Tensor } from "../../engine/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { UpdateEpochs } from "../experience/update-epochs.ts";
import { kind } from "./setup.ts";

/** Shows a tuner of update epochs what all updates from a rollout were like together, however they were cut. */
export class TunerWatch implements Stateful {
  /** As many numbers come and go as updates have been done of the present rollout. */
  readonly varies = true;
  readonly #tuner: UpdateEpochs;
  #found: { readonly kl: number[]; readonly clipFraction: number[] } = { kl: [], clipFraction: [] };
  #waiting: { readonly kl: Tensor; readonly clipFraction: Tensor; readonly count: number }[] = [];

  constructor(tuner: UpdateEpochs) {
    this.#tuner = tuner;
  }

  /** Notes so many updates. */
  add(values: Readonly<Record<string, Tensor>>, count: number): void {
    const { "policy.approxKl": kl, "policy.clipFraction": clipFraction } = values;
    if (!kl || !clipFraction)
      throw new EspalierError(
        "OPTION_INVALID",
        `${kind}: update epochs are chosen by policy.approxKl and policy.clipFraction, which no loss reports`,
        { fix: 'add policyLoss() under its own name, "policy", or give updateEpochs as a number' },
      );
    this.#waiting.push({ kl, clipFraction, count });
  }

  /** The rollout's updates are done. */
  async end(): Promise<void> {
    await this.#settle();
    const { kl, clipFraction } = this.#found;
    this.#tuner.observe({ kl: meanOf(kl), clipFraction: meanOf(clipFraction) });
    this.#found = { kl: [], clipFraction: [] };
  }

  async #settle(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { count, ...tensors } of waiting) {
      const numbers = await read(tensors);
      this.#found.kl.push(...numbers.kl.subarray(0, count));
      this.#found.clipFraction.push(...numbers.clipFraction.subarray(0, count));
    }
  }

  async getState(): Promise<StateTree> {
    await this.#settle();
    const { kl, clipFraction } = this.#found;
    return {
      tuner: await this.#tuner.getState(),
      kl: Float32Array.from(kl),
      clipFraction: Float32Array.from(clipFraction),
    };
  }

  setState(state: StateTree): void {
    const { tuner, kl, clipFraction } = state as Readonly<Record<string, StateTree>>;
    void this.#tuner.setState(tuner as StateTree);
    this.#found = { kl: [...(kl as Float32Array)], clipFraction: [...(clipFraction as Float32Array)] };
    this.#waiting = [];
  }
}

const meanOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;
