import { EspalierError } from "../../core/index.ts";
import type { Tensor } from "../../engine/index.ts";
import { type Packing, TensorState, type TensorStateOptions } from "../../learner/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { ExperienceBuffer } from "../experience/experience.ts";
import type { Gathered } from "./learn.ts";

/** The arrays of a rollout's packing, on the device. */
type Arrays = readonly Tensor[];

/**
 * The experience of one rollout, wherever its environments ran: learned from as a whole, then forgotten. What is
 * forgotten is no part of the state, so that a checkpoint between epochs holds none of it.
 */
export class RolloutExperience implements ExperienceBuffer<Arrays, Arrays> {
  readonly varies = true;
  readonly #arrays: TensorState<Gathered>;
  #ready = false;

  /** `room` are tensors as large as a rollout's; what is in them is not looked at. */
  constructor(room: unknown, options: Omit<TensorStateOptions, "lent">) {
    this.#arrays = new TensorState<Gathered>("experience", room, { ...options, lent: false });
  }

  get packing(): Packing<Gathered> {
    return this.#arrays.packing;
  }

  /** Where the next rollout may be written: what is there, or was. */
  get room(): Arrays {
    return this.#arrays.now;
  }

  /** Takes a rollout in the place of the one before. */
  add(rollout: Arrays): void {
    this.#arrays.replace(rollout);
    this.#ready = true;
  }

  /** Whether there is a rollout that has not been learned from to its end. */
  get ready(): boolean {
    return this.#ready;
  }

  sample(): Arrays {
    if (this.#ready) return this.#arrays.now;
    throw new EspalierError("BUFFER_NOT_READY", "onPolicyTask: there is no rollout to learn from", {
      fix: "restore a checkpoint as a whole: `environments`, `keys` and `experience` belong together",
    });
  }

  clear(): void {
    this.#ready = false;
  }

  getState(): StateTree {
    return { rollout: this.#ready ? this.#arrays.getState() : null };
  }

  setState(state: StateTree): void {
    const { rollout } = state as { readonly rollout: StateTree };
    if (rollout !== null) this.#arrays.setState(rollout);
    this.#ready = rollout !== null;
  }
}
