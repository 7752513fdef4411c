import { createHash } from "node:crypto";
import { hostRandom, put, type Shape, type Tensor } from "../engine/index.ts";
import type { Initializer } from "./initializers.ts";
import type { InitKey, InitOptions } from "./model.ts";

const { hostFoldIn, hostKey } = hostRandom;

const keyOf = (key: InitKey): Uint32Array => (typeof key === "number" ? hostKey(key) : key);

/** The key of a part by its name: parts added later never change what others draw. */
export function childKey(key: InitKey, name: string): Uint32Array {
  return hostFoldIn(keyOf(key), createHash("sha256").update(name).digest().readUInt32LE(0));
}

/** What a parameter is made from. */
export interface ParameterSpec {
  readonly shape: Shape;
  readonly init: Initializer;
}

/** Draws a layer's own parameters and puts them on the device. */
export function drawParameters(
  key: InitKey,
  specs: Readonly<Record<string, ParameterSpec>>,
  options: InitOptions = {},
): Readonly<Record<string, Tensor>> {
  const drawn = Object.entries(specs).map(([name, { shape, init }]) => {
    return [name, put(init(childKey(key, name), shape), { ...options, shape })] as const;
  });
  return Object.fromEntries(drawn);
}
