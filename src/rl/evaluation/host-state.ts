import { isPlainObject } from "../../core/index.ts";
import { type DType, type EngineChoice, type HostArray, put, read, Tensor } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";

/** A tensor as it travels to another thread. */
interface HostTensor {
  readonly $tensor: { readonly dtype: DType; readonly shape: readonly number[]; readonly data: HostArray };
}

/** A state tree in plain data. */
export type HostState = unknown;

/** A state with its tensors read from their devices, for another thread. */
export async function toHost(state: StateTree): Promise<HostState> {
  if (state instanceof Tensor) {
    const data = await read(state);
    return { $tensor: { dtype: state.dtype, shape: state.shape, data } } satisfies HostTensor;
  }
  if (Array.isArray(state)) return Promise.all(state.map((part: StateTree) => toHost(part)));
  if (!isPlainObject(state)) return state;
  const parts = Object.entries(state).map(
    async ([name, part]) => [name, await toHost(part as StateTree)] as const,
  );
  return Object.fromEntries(await Promise.all(parts));
}

/** The reverse. */
export function fromHost(state: HostState, engine?: EngineChoice): StateTree {
  if (Array.isArray(state)) return state.map((part) => fromHost(part, engine));
  if (!isPlainObject(state)) return state as StateTree;
  if ("$tensor" in state) {
    const { dtype, shape, data } = (state as unknown as HostTensor).$tensor;
    return put(data, { dtype, shape, ...(engine !== undefined && { engine }) });
  }
  return Object.fromEntries(Object.entries(state).map(([name, part]) => [name, fromHost(part, engine)]));
}

/** A state whose tensors are on an engine: the same where they are there, or where none is named. */
export async function onEngine(state: StateTree, engine: EngineChoice | undefined): Promise<StateTree> {
  if (engine === undefined || isOn(state, engine)) return state;
  return fromHost(await toHost(state), engine);
}

function isOn(state: StateTree, engine: EngineChoice): boolean {
  if (state instanceof Tensor) return state.device.engine === engine;
  if (Array.isArray(state)) return state.every((part: StateTree) => isOn(part, engine));
  return !isPlainObject(state) || Object.values(state).every((part) => isOn(part as StateTree, engine));
}
