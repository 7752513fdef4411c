import { put, type Tensor } from "../engine/index.ts";

/** The index of a run's first update that was not finite, for tasks without a {@link Learner}. */
export class NonFiniteIndex {
  readonly #place: (data: Int32Array) => Tensor;
  #tensor: Tensor;

  constructor(on: Parameters<typeof put>[1]) {
    this.#place = (data) => put(data, { ...on, shape: [] });
    this.#tensor = this.#place(Int32Array.of(-1));
  }

  get now(): Tensor {
    return this.#tensor;
  }

  clear(): void {
    this.#tensor = this.#place(Int32Array.of(-1));
  }

  replace(first: Tensor, from: number): { readonly first: Tensor; readonly from: number } {
    this.#tensor = first;
    return { first, from };
  }
}
