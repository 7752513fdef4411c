import { actionSize, choices, flatSize } from "../spaces/space.ts";
import type { Description } from "./make-environments.ts";

/** Results of a step, by row. */
export const resultKeys = [
  "observations",
  "rewards",
  "terminated",
  "truncated",
  "resets",
  "actionMasks",
] as const;

/** Counts of episodes and failures, by environment or row. */
export const episodeKeys = ["returns", "lengths", "lessons", "fresh", "restarts", "failures"] as const;

type MemorySizes = ReturnType<typeof sizesOf>;

/** Numbers in the rows of `count` environments. */
export const sizesOf = (
  description: Pick<Description, "observationSpace" | "actionSpace" | "agents" | "masked">,
  count: number,
) => ({
  count,
  agents: description.agents,
  observation: flatSize(description.observationSpace),
  action: actionSize(description.actionSpace),
  /** 0 without action masks. */
  choices: description.masked ? choices(description.actionSpace) : 0,
});

interface ArrayType<T> {
  new (length: number): T;
  new (buffer: SharedArrayBuffer, at: number, length: number): T;
  readonly BYTES_PER_ELEMENT: number;
}

type Allocate = <T>(type: ArrayType<T>, length: number) => T;

const layout = ({ count, agents, observation, action, choices }: MemorySizes, allocate: Allocate) => ({
  // By row.
  observations: allocate(Float32Array, count * agents * observation),
  rewards: allocate(Float32Array, count * agents),
  terminated: allocate(Uint8Array, count * agents),
  truncated: allocate(Uint8Array, count * agents),
  resets: allocate(Uint8Array, count * agents),
  actionMasks: allocate(Uint8Array, count * agents * choices),
  /** The rows' actions, where they come from another thread. */
  actions: allocate(Float32Array, count * agents * action),
  /** Of the present episode. */
  returns: allocate(Float64Array, count * agents),
  // By environment.
  lengths: allocate(Int32Array, count),
  lessons: allocate(Int32Array, count),
  nextLessons: allocate(Int32Array, count),
  /** 1 where it has not begun an episode since it was made: the next one begins with a seed. */
  fresh: allocate(Uint8Array, count),
  /** Two each: the seed of its first episode, and the one of a second attempt in the same step. */
  seeds: allocate(Uint32Array, count * 2),
  restarts: allocate(Int32Array, count),
  /** Failures in a row, without a good step in between. */
  failures: allocate(Int32Array, count),
  /** 1 where its thread was lost in this step: it is made again without being called again. */
  failed: allocate(Uint8Array, count),
  /** [steps of the vector]. */
  step: allocate(Float64Array, 1),
});

/**
 * Arrays in which environments leave their results and count their episodes: of one thread alone, or shared between
 * the thread that steps them and the one that waits for it.
 */
export type Memory = Readonly<ReturnType<typeof layout>>;

/** Memory of this thread alone. */
export const ownMemory = (sizes: MemorySizes): Memory => layout(sizes, (type, length) => new type(length));

// A cache line, so that no two arrays share one.
const alignment = 64;

const alignedBytes = (
  { BYTES_PER_ELEMENT }: { readonly BYTES_PER_ELEMENT: number },
  length: number,
): number => Math.ceil((length * BYTES_PER_ELEMENT) / alignment) * alignment;

/** Bytes that {@link sharedMemory} needs. */
export function memoryBytes(sizes: MemorySizes): number {
  let bytes = 0;
  layout(sizes, (type, length) => {
    bytes += alignedBytes(type, length);
    return new type(0);
  });
  return bytes;
}

/** Memory in a shared buffer: equal sizes have equal layouts in all threads. */
export function sharedMemory(sizes: MemorySizes, buffer: SharedArrayBuffer): Memory {
  let at = 0;
  return layout(sizes, (type, length) => {
    const array = new type(buffer, at, length);
    at += alignedBytes(type, length);
    return array;
  });
}

/** The memory of `count` environments from `first` on: parts of the same arrays. */
export function partOf(memory: Memory, first: number, count = 1): Memory {
  const total = memory.lengths.length;
  const parts = Object.entries(memory).map(([name, array]) => {
    const each = array.length / total;
    return [name, array.subarray(first * each, (first + count) * each)] as const;
  });
  return Object.fromEntries(parts) as Memory;
}
