import type { Sizes } from "./description.ts";

/** Where environments leave what they give, and keep account of their episodes. */
export interface Memory {
  /** By row. */
  readonly observations: Float32Array;
  readonly rewards: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly resets: Uint8Array;
  readonly actionMasks: Uint8Array;
  /** What the rows are to do, where it comes from another thread. */
  readonly actions: Float32Array;
  /** Of the present episode. */
  readonly returns: Float64Array;
  /** By environment. */
  readonly lengths: Int32Array;
  readonly lessons: Int32Array;
  readonly nextLessons: Int32Array;
  /** 1 where it has not begun an episode since it was made: the next one begins with a seed. */
  readonly fresh: Uint8Array;
  /** Two each: the seed with which it begins when fresh, and the one for another try in the same step. */
  readonly seeds: Uint32Array;
  readonly restarts: Int32Array;
  /** In a row, without a good step in between. */
  readonly failures: Int32Array;
  /** 1 where it hung in this step, which therefore fails without being tried again. */
  readonly doomed: Uint8Array;
  /** [the vector's steps]. */
  readonly step: Float64Array;
}

interface Maker<T> {
  new (length: number): T;
  new (buffer: SharedArrayBuffer, at: number, length: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

type Allocate = <T>(type: Maker<T>, length: number) => T;

function layout({ count, agents, observation, action, choices }: Sizes, take: Allocate): Memory {
  const rows = count * agents;
  return {
    observations: take(Float32Array, rows * observation),
    rewards: take(Float32Array, rows),
    terminated: take(Uint8Array, rows),
    truncated: take(Uint8Array, rows),
    resets: take(Uint8Array, rows),
    actionMasks: take(Uint8Array, rows * choices),
    actions: take(Float32Array, rows * action),
    returns: take(Float64Array, rows),
    lengths: take(Int32Array, count),
    lessons: take(Int32Array, count),
    nextLessons: take(Int32Array, count),
    fresh: take(Uint8Array, count),
    seeds: take(Uint32Array, count * 2),
    restarts: take(Int32Array, count),
    failures: take(Int32Array, count),
    doomed: take(Uint8Array, count),
    step: take(Float64Array, 1),
  };
}

/** Memory of this thread alone. */
export const ownMemory = (sizes: Sizes): Memory => layout(sizes, (type, length) => new type(length));

// A cache line, so that no two arrays share one.
const alignment = 64;

/** Bytes that {@link sharedMemory} needs. */
export function memoryBytes(sizes: Sizes): number {
  let bytes = 0;
  layout(sizes, (type, length) => {
    bytes += Math.ceil((length * type.BYTES_PER_ELEMENT) / alignment) * alignment;
    return new type(0);
  });
  return bytes;
}

/** Memory that threads share: laid out alike wherever sizes are alike. */
export function sharedMemory(sizes: Sizes, buffer: SharedArrayBuffer): Memory {
  let at = 0;
  return layout(sizes, (type, length) => {
    const array = new type(buffer, at, length);
    at += Math.ceil((length * type.BYTES_PER_ELEMENT) / alignment) * alignment;
    return array;
  });
}
