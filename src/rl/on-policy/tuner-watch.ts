import { read, type Tensor } from "../../engine/index.ts";
import type { Counters } from "../../schedule/index.ts";
import type { Stateful, StateTree } from "../../state/index.ts";
import type { UpdateEpochs } from "../experience/update-epochs.ts";

/** Shows a tuner of update epochs what all updates from a rollout were like together, however they were cut. */
export class TunerWatch implements Stateful {
  /** As many numbers come and go as updates have been done of the present rollout. */
  readonly varies = true;
  readonly #tuner: UpdateEpochs;
  #found: { readonly kl: number[]; readonly clipFraction: number[] } = { kl: [], clipFraction: [] };
  #waiting: { readonly kl: Tensor; readonly clipFraction: Tensor; readonly count: number }[] = [];

  /** The trainer's epoch under way, by the samples it began with, and its update epochs. */
  #epoch = { samples: -1, updateEpochs: 0 };

  constructor(tuner: UpdateEpochs) {
    this.#tuner = tuner;
  }

  /** How often the rollout of an epoch is gone through: the same answer all the while, whatever comes after it. */
  updateEpochs({ samples }: Counters): number {
    if (this.#epoch.samples !== samples) this.#epoch = { samples, updateEpochs: this.#tuner.epochs };
    return this.#epoch.updateEpochs;
  }

  /** Notes so many updates; those without the policy's loss tell nothing. */
  add(values: Readonly<Record<string, Tensor>>, count: number): void {
    const { "policy.approxKl": kl, "policy.clipFraction": clipFraction } = values;
    if (kl && clipFraction) this.#waiting.push({ kl, clipFraction, count });
  }

  /** The rollout's updates are done. */
  async end(): Promise<void> {
    await this.#settle();
    const { kl, clipFraction } = this.#found;
    if (kl.length > 0) this.#tuner.observe({ kl: meanOf(kl), clipFraction: meanOf(clipFraction) });
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
      epoch: { ...this.#epoch },
      kl: Float32Array.from(kl),
      clipFraction: Float32Array.from(clipFraction),
    };
  }

  setState(state: StateTree): void {
    const { tuner, epoch, kl, clipFraction } = state as Readonly<Record<string, StateTree>>;
    void this.#tuner.setState(tuner as StateTree);
    this.#epoch = { ...(epoch as { readonly samples: number; readonly updateEpochs: number }) };
    this.#found = { kl: [...(kl as Float32Array)], clipFraction: [...(clipFraction as Float32Array)] };
    this.#waiting = [];
  }
}

const meanOf = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;
