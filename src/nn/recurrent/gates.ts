import { customGradient, np, type Value } from "../../engine/index.ts";

/** The value cut into `count` equal parts along its last axis. */
const cut = (x: Value, count: number): Value[] => [...np.split(x, count, { axis: -1 })];

/**
 * The gates of a cell, which one product gives side by side. Their cotangents are put side by side again; those of
 * plain slices would each be filled up with zeros and added.
 */
export function splitGates(x: Value, count: number): readonly Value[] {
  return customGradient(
    (value: Value): readonly Value[] => cut(value, count),
    (_args, _parts, cotangents) => [np.concatenate(cotangents, { axis: -1 })],
  )(x);
}
