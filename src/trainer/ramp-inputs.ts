import { EspalierError } from "../core/index.ts";
import { advanceCounters, type Counters, type Ramp } from "../schedule/index.ts";
import type { Span } from "./task.ts";

type Arrays = Readonly<Record<string, Float32Array>>;

/** The task's ramps as inputs of a call: their value at every repeat, in arrays that are used again and again. */
export class RampInputs {
  readonly #ramps: readonly (readonly [string, Ramp])[];
  #room: Record<string, Float32Array> = {};
  #size = 0;
  /** Views of the arrays by length. */
  readonly #views = new Map<number, Arrays>();

  constructor(ramps: Readonly<Record<string, Ramp>>) {
    this.#ramps = Object.entries(ramps);
  }

  /** Each ramp at the counters before every repeat. Seconds stand still within a call. */
  fill(spans: readonly Span[], count: number): Arrays {
    if (this.#ramps.length === 0) return none;
    const arrays = this.#arrays(count);
    let row = 0;
    for (const { at, segment, count: repeats } of spans) {
      for (let i = 0; i < repeats; i++, row++) {
        const counters = i === 0 ? at : advanceCounters(at, segment.adds, i);
        for (const [name, ramp] of this.#ramps) {
          const value = ramp.at(counters);
          if (!Number.isFinite(value)) throw notFinite(name, value, counters.batches);
          (arrays[name] as Float32Array)[row] = value;
        }
      }
    }
    return arrays;
  }

  /** The numbers of the last fill in arrays that stay: those of a call are used again. */
  copy(count: number): () => Arrays {
    const { length } = this.#ramps;
    if (length === 0) return () => none;
    const [arrays, all] = [this.#arrays(count), new Float32Array(length * count)];
    this.#ramps.forEach(([name], i) => {
      all.set(arrays[name] as Float32Array, i * count);
    });
    return () =>
      Object.fromEntries(this.#ramps.map(([name], i) => [name, all.subarray(i * count, (i + 1) * count)]));
  }

  /** Whether a ramp looks at one of these counters where the run is. One that copies all of them looks at all. */
  follow(names: readonly string[], at: Counters): boolean {
    let looked = false;
    const look = (): number => {
      looked = true;
      return 0;
    };
    const watch = Object.fromEntries(names.map((name) => [name, { get: look, enumerable: true }]));
    const counters = Object.defineProperties({ ...at }, watch);
    for (const [, ramp] of this.#ramps) ramp.at(counters);
    return looked;
  }

  #arrays(count: number): Arrays {
    if (count > this.#size) {
      this.#size = Math.max(count, 2 * this.#size);
      this.#room = Object.fromEntries(this.#ramps.map(([name]) => [name, new Float32Array(this.#size)]));
      this.#views.clear();
    }
    let view = this.#views.get(count);
    if (view === undefined) {
      view = Object.fromEntries(
        Object.entries(this.#room).map(([name, array]) => [name, array.subarray(0, count)]),
      );
      if (this.#views.size < 64) this.#views.set(count, view);
    }
    return view;
  }
}

const none: Arrays = Object.freeze({});

const notFinite = (name: string, value: number, batches: number): EspalierError =>
  new EspalierError("RAMP_NOT_FINITE", `the ramp "${name}" is ${value} after ${batches} batches`, {
    fix: "mend the ramp, so that it is a finite number at all counters",
  });
