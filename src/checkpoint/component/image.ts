import { type DType, type HostArray, type Shape, Tensor } from "../../engine/index.ts";
import { joinPath, type StateTree, walkState } from "../../state/index.ts";
import { encodeJson, type Json, mark, type Step } from "./json.ts";

/** A tensor or array of a component, to be written under its name. */
export interface ImageLeaf {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly bytes: number;
  readonly source: Tensor | HostArray;
}

/** A component's state as it goes into a file: the tree with its plain values as text, and what goes into the data. */
export interface ComponentImage {
  readonly tree: string;
  /** Wider elements first, so that each tensor lies where its elements may. */
  readonly leaves: readonly ImageLeaf[];
  readonly bytes: number;
}

/** The kinds of marks in a tree for what lies in the data. */
export type LeafKind = "tensor" | "array";

/**
 * Takes a picture of a state: plain values are copied, and arrays where `copyArrays` says that somebody may still
 * write to them. Tensors never change and are held as they are.
 */
export function imageOf(state: StateTree, copyArrays: boolean): ComponentImage {
  // Says where, if it holds what cannot be saved.
  walkState(state, () => undefined);
  const leaves: ImageLeaf[] = [];
  const marked = (kind: LeafKind): Json => ({ [mark]: kind });
  const tree = encodeJson(state, (value, path) => {
    if (value instanceof Tensor) {
      const { dtype, shape, bytes } = value.type;
      leaves.push({ name: leafName(path), dtype, shape, bytes, source: value });
      return marked("tensor");
    }
    if (!ArrayBuffer.isView(value)) return undefined;
    const array = value as HostArray;
    const source = copyArrays ? array.slice() : array;
    const { length, byteLength } = array;
    leaves.push({
      name: leafName(path),
      dtype: elementType(array),
      shape: [length],
      bytes: byteLength,
      source,
    });
    return marked("array");
  });
  return {
    tree: JSON.stringify(tree),
    leaves: leaves.sort((a, b) => width[b.dtype] - width[a.dtype]),
    bytes: leaves.reduce((sum, leaf) => sum + leaf.bytes, 0),
  };
}

const width: Readonly<Record<DType, number>> = {
  f64: 8,
  f32: 4,
  i32: 4,
  u32: 4,
  f16: 2,
  bf16: 2,
  u8: 1,
  bool: 1,
};

/** The name of a leaf in the file: its path, as people write it. `path` is that path where it is known. */
export function leafName(steps: readonly Step[], path: string = pathOf(steps)): string {
  // A state that is one tensor has no path, and safetensors keeps one name for itself.
  if (path === "") return "value";
  return path === "__metadata__" ? '["__metadata__"]' : path;
}

const pathOf = (steps: readonly Step[]): string =>
  steps.reduce<string>((at, step) => (typeof step === "number" ? `${at}[${step}]` : joinPath(at, step)), "");

function elementType(array: HostArray): DType {
  if (array instanceof Float32Array) return "f32";
  if (array instanceof Float64Array) return "f64";
  if (array instanceof Int32Array) return "i32";
  return array instanceof Uint32Array ? "u32" : "u8";
}
