import { type CompileOptions, put, type Tensor } from "../engine/index.ts";

/** What ramps give for the updates of a call, on the device; put there anew only where something has changed. */
export class RampNumbers {
  readonly #names: readonly string[];
  readonly #capacity: number;
  readonly #options: CompileOptions;
  readonly #last: Float32Array;
  #tensor: Tensor | undefined;

  constructor(names: readonly string[], capacity: number, options: CompileOptions) {
    this.#names = names;
    this.#capacity = capacity;
    this.#options = options;
    this.#last = new Float32Array(names.length * capacity);
  }

  tensor(ramps: Readonly<Record<string, Float32Array>>, count: number): Tensor | null {
    if (this.#names.length === 0) return null;
    let changed = this.#tensor === undefined;
    for (let k = 0; k < this.#names.length; k++) {
      const numbers = ramps[this.#names[k] as string] as Float32Array;
      for (let i = 0, at = k * this.#capacity; i < count; i++, at++)
        if (this.#last[at] !== numbers[i]) {
          this.#last[at] = numbers[i] as number;
          changed = true;
        }
    }
    if (!changed && this.#tensor) return this.#tensor;
    this.#tensor?.dispose();
    const { engine, device } = this.#options;
    this.#tensor = put(this.#last, { ...(engine && { engine }), ...(device !== undefined && { device }) });
    return this.#tensor;
  }
}
