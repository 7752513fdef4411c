import { EspalierError } from "../core/index.ts";
import { type Device, type DType, type HostArray, type Shape, Tensor } from "../engine/index.ts";
import { joinPath, type Stateful, type StateNode, type StateTree, walkState } from "../state/index.ts";
import { encodeJson, mark, placed, type Step } from "./json.ts";
import { nameOf, widthOf } from "./safetensors/header.ts";

/**
 * The states of components frozen at one step, to be written while training goes on. It holds the tensors themselves,
 * not copies; `release` lets go of them.
 */
export class Snapshot {
  #images: ReadonlyMap<string, ComponentImage> | undefined;
  readonly bytes: number;

  /** @internal */
  constructor(images: ReadonlyMap<string, ComponentImage>) {
    this.#images = images;
    this.bytes = [...images.values()].reduce((sum, image) => sum + image.bytes, 0);
  }

  /** @internal */
  get images(): ReadonlyMap<string, ComponentImage> {
    if (this.#images) return this.#images;
    throw new EspalierError("SNAPSHOT_RELEASED", "this snapshot has been written or released already", {
      fix: "take a new one",
    });
  }

  /** @internal The device of its tensors. */
  get device(): Device | undefined {
    for (const { leaves } of this.images.values())
      for (const { source } of leaves) if (source instanceof Tensor) return source.device;
    return undefined;
  }

  /** Lets go of the tensors. Calling it twice does no harm. */
  release(): void {
    this.#images = undefined;
  }
}

/**
 * Freezes components at this step: asks all of them for their states at once, keeps tensors, which never change, and
 * copies everything else.
 *
 * @example
 * ```ts
 * const frozen = await snapshot(trainer.components);
 * const saved = manager.write(frozen, { counters }); // in the background
 * ```
 */
export async function snapshot(components: Readonly<Record<string, Stateful>>): Promise<Snapshot> {
  const owners = new Owners();
  // Every state is asked for and copied before anything is awaited: what comes later belongs to a later step.
  const images = Object.entries(components).map(([name, component]) => {
    const image = (state: StateTree) => [name, imageIn(name, state, true, owners)] as const;
    const state = component.getState();
    return state instanceof Promise ? state.then(image) : image(state);
  });
  const all = new Map(await Promise.all(images));
  owners.check();
  return new Snapshot(all);
}

/**
 * A snapshot of states that are frozen already, such as those of a task's `snapshot()`. Nothing is copied, so their
 * arrays must not change until it has been written.
 */
export function snapshotOf(states: Readonly<Record<string, StateTree>>): Snapshot {
  const owners = new Owners();
  const images = Object.entries(states).map(
    ([name, state]) => [name, imageIn(name, state, false, owners)] as const,
  );
  owners.check();
  return new Snapshot(new Map(images));
}

function imageIn(name: string, state: StateTree, copyArrays: boolean, owners: Owners): ComponentImage {
  try {
    // Its errors say where a state holds what cannot be saved.
    walkState(state, (path, node) => owners.add(name, path, node));
    return imageOf(state, copyArrays);
  } catch (cause) {
    throw cause instanceof EspalierError ? placed(`component "${name}"`, cause) : cause;
  }
}

/**
 * The owners of tensors and arrays. The same tensor, or the same memory, in the states of two components is an error that
 * names both places, because after a restore they would be two pieces that drift apart. Within one component a tensor may
 * stand in several places: tensors never change.
 */
class Owners {
  readonly #owners = new Map<unknown, { readonly component: string; readonly place: string }>();
  readonly #shared: string[] = [];

  add(component: string, path: string, node: StateNode): void {
    if (node.kind !== "tensor" && node.kind !== "array") return;
    // Two views of one memory are one piece of state, whatever parts of it they show.
    const piece = node.kind === "tensor" ? node.value : node.value.buffer;
    const place = path === "" ? component : `${component}: ${path}`;
    const owner = this.#owners.get(piece);
    if (!owner) this.#owners.set(piece, { component, place });
    else if (owner.component !== component) {
      const what = node.kind === "tensor" ? node.value.type.text : node.type;
      this.#shared.push(`${owner.place} and ${place} (${what})`);
    }
  }

  check(): void {
    if (this.#shared.length === 0) return;
    const places = this.#shared.join("; ");
    throw new EspalierError("STATE_SHARED", `the same state belongs to two components: ${places}`, {
      fix: "let one component own it; where both start from the same numbers, give the second a copy",
    });
  }
}

/** A component's state as it goes into a file: the tree with its plain values as text, and the leaves in the data. */
export interface ComponentImage {
  readonly tree: string;
  /** Wider elements first, so that every tensor is aligned. */
  readonly leaves: readonly ImageLeaf[];
  readonly bytes: number;
}

/** A tensor or array of a component, to be written under its name. */
export interface ImageLeaf {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: number;
  readonly source: Tensor | HostArray;
}

/** The marks of a tree for leaves that are in the data. */
export type LeafKind = "tensor" | "array";

/** Copies plain values of a state that can be saved, and arrays where `copyArrays`. Tensors never change and are held as they are. */
export function imageOf(state: StateTree, copyArrays: boolean): ComponentImage {
  const leaves: ImageLeaf[] = [];
  const tree = encodeJson(state, (value, path) => {
    const kind = value instanceof Tensor ? "tensor" : ArrayBuffer.isView(value) ? "array" : undefined;
    if (kind === undefined) return undefined;
    const leaf =
      value instanceof Tensor
        ? { ...typeOf(value), source: value }
        : arrayLeaf(value as HostArray, copyArrays);
    leaves.push({ name: leafName(path), ...leaf });
    return { [mark]: kind satisfies LeafKind };
  });
  return {
    tree: JSON.stringify(tree),
    leaves: leaves.sort((a, b) => width(b.dtype) - width(a.dtype)),
    bytes: leaves.reduce((sum, leaf) => sum + leaf.bytes, 0),
  };
}

const typeOf = ({ type: { dtype, shape, bytes } }: Tensor) => ({ dtype, shape, bytes });

function arrayLeaf(array: HostArray, copy: boolean): Omit<ImageLeaf, "name"> {
  const source = copy ? array.slice() : array;
  return { dtype: elementType(array), shape: [array.length], bytes: array.byteLength, source };
}

function elementType(array: HostArray): DType {
  if (array instanceof Float32Array) return "f32";
  if (array instanceof Float64Array) return "f64";
  if (array instanceof Int32Array) return "i32";
  return array instanceof Uint32Array ? "u32" : "u8";
}

const width = (dtype: DType): number => widthOf(nameOf(dtype)) ?? 1;

/** The name of a leaf in the file: its path, as people write it. `path` is that path where it is known. */
export function leafName(steps: readonly Step[], path: string = pathOf(steps)): string {
  // A state that is one tensor has no path, and safetensors reserves one name.
  if (path === "") return "value";
  return path === "__metadata__" ? '["__metadata__"]' : path;
}

const pathOf = (steps: readonly Step[]): string =>
  steps.reduce<string>((at, step) => (typeof step === "number" ? `${at}[${step}]` : joinPath(at, step)), "");
