import type { EspalierError, TreeShape } from "../../core/index.ts";
import { leafPaths } from "../../core/index.ts";
import { userError } from "../trace/location.ts";
import { Value } from "../trace/value.ts";
import type { Device } from "./backend.ts";
import type { Tensor } from "./tensor.ts";

/** An error unless the positions in `static` are those of arguments. */
export function checkStatics(statics: readonly number[], count: number, name: string): void {
  const wrong = statics.find((i) => !isPosition(i, count));
  if (wrong !== undefined)
    throw userError(
      "ARGUMENT_INVALID",
      `${name}: static names argument ${wrong}, but there are ${count} arguments`,
      "count arguments from 0",
    );
}

const isPosition = (i: number, count: number): boolean => Number.isInteger(i) && i >= 0 && i < count;

/** Leaves that belong to donated arguments. */
export function donatedLeaves(
  shape: TreeShape,
  args: readonly unknown[],
  statics: readonly number[],
  donate: readonly number[],
  name: string,
): readonly number[] {
  const donated: number[] = [];
  let next = 0;
  let at = 0;
  args.forEach((_, i) => {
    if (statics.includes(i)) return;
    const count = leafPaths((shape as { items: readonly TreeShape[] }).items[at++] as TreeShape).length;
    if (donate.includes(i)) for (let k = 0; k < count; k++) donated.push(next + k);
    next += count;
  });
  const beyond = donate.find((i) => !isPosition(i, args.length) || statics.includes(i));
  if (beyond !== undefined)
    throw userError(
      "ARGUMENT_INVALID",
      `${name}: donate names argument ${beyond}, which is not a tensor argument`,
      "count arguments from 0",
    );
  return donated;
}

/** Name of the leaf at a path in errors: `step: argument 0.w[1]`. */
export function argumentName(
  name: string,
  path: string,
  args: readonly unknown[],
  statics: readonly number[],
): string {
  const at = Number(/^\[(\d+)\]/.exec(path)?.[1] ?? 0);
  const original = args.map((_, i) => i).filter((i) => !statics.includes(i))[at];
  return `${name}: argument ${original}${path.replace(/^\[\d+\]/, "")}`;
}

/** An argument, or a tensor used by closure, that is not where the function runs. */
export function misplaced(argument: string, tensor: Tensor, device: Device): EspalierError {
  return userError(
    "DEVICE_MISMATCH",
    `${argument} is on ${tensor.device.engine}:${tensor.device.index}, but the function runs on ${device.engine}:${device.index}`,
    "put all tensors it takes or uses on one device: put(data, { engine, device })",
  );
}

/** A donated tensor that the same call needs once more. */
export function donatedTwice(argument: string, tensor: Tensor): EspalierError {
  return userError(
    "ARGUMENT_INVALID",
    `${argument} (${tensor.type.text}) is donated, and the same tensor is passed a second time`,
    "pass another tensor there, or leave the argument out of `donate`",
  );
}

/** A leaf that is no tensor. */
export function badLeaf(path: string, leaf: unknown): never {
  if (leaf instanceof Value)
    throw userError(
      "VALUE_ESCAPED",
      `${path} is a traced value from another function`,
      "pass tensors to compiled functions",
    );
  throw userError(
    "ARGUMENT_INVALID",
    `${path} is ${describe(leaf)}, which is no tensor`,
    "pass tensors, numbers, booleans or typed arrays; make tensors from nested arrays with put(...); list plain values in `static`",
  );
}

/** A wrong value in words. */
export function describe(leaf: unknown): string {
  if (typeof leaf === "function") return `the function ${leaf.name || "(anonymous)"}`;
  if (typeof leaf === "object" && leaf !== null) return `a ${leaf.constructor?.name ?? "object"}`;
  return `${JSON.stringify(leaf) ?? String(leaf)} (${typeof leaf})`;
}
