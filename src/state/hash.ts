import { hex, type Sha256, sha256 } from "../core/index.ts";
import type { HostArray, Tensor } from "../engine/index.ts";
import type { StateTree } from "./stateful.ts";
import { kindOf, type StateNode, walkState } from "./walk.ts";

/** Bytes that may be read ahead of the hashing: enough to keep a device busy, little beside the state itself. */
const ahead = 32 * 1024 * 1024;

/**
 * A sha256 over places, types and bits of a state: equal states have equal hashes, on every machine of the same
 * byte order, whatever the order of keys. Tensors are read while those before them are hashed, a few at a time, so
 * that a large state is never in memory as a whole.
 *
 * @example
 * ```ts
 * const before = await hashState(await optimizer.getState());
 * ```
 */
export async function hashState(state: StateTree): Promise<string> {
  const nodes: { readonly path: string; readonly node: StateNode }[] = [];
  walkState(state, (path, node) => nodes.push({ path, node }));
  const read = readAhead(nodes.flatMap(({ node }) => (node.kind === "tensor" ? [node.value] : [])));
  const hash = sha256();
  for (const { path, node } of nodes) {
    hash.update(`${JSON.stringify(path)} ${kindOf(node)}\n`);
    if (node.kind === "tensor") update(hash, await read());
    else if (node.kind === "array") update(hash, node.value);
    else hash.update(node.kind === "value" ? text(node.value) : "null");
    hash.update("\n");
  }
  return hex(hash.digest());
}

/** Gives the tensors' numbers in order, with reads under way for those that follow. */
function readAhead(tensors: readonly Tensor[]): () => Promise<HostArray> {
  const waiting: { readonly data: Promise<HostArray>; readonly bytes: number }[] = [];
  let next = 0;
  let bytes = 0;
  return () => {
    while (next < tensors.length && (waiting.length === 0 || bytes < ahead)) {
      const tensor = tensors[next++] as Tensor;
      const data = tensor.read();
      // The caller gets the failure when it awaits the data; until then it is not an unhandled one.
      data.catch(() => undefined);
      waiting.push({ data, bytes: tensor.type.bytes });
      bytes += tensor.type.bytes;
    }
    // One was pushed above at the latest: this is called once a tensor.
    const first = waiting.shift() as (typeof waiting)[number];
    bytes -= first.bytes;
    return first.data;
  };
}

const update = (hash: Sha256, { buffer, byteOffset, byteLength }: HostArray): Sha256 =>
  hash.update(new Uint8Array(buffer, byteOffset, byteLength));

/** JSON writes 0 and -0 alike, and NaN and the infinities as null. */
function text(value: string | number | boolean | null): string {
  if (typeof value !== "number") return JSON.stringify(value);
  return Object.is(value, -0) ? "-0" : String(value);
}
