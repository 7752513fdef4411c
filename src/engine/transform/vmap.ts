import { batchedValue, checkAxis } from "../ops/rules.ts";
import { transpose } from "../ops/shape.ts";
import { batchRegion } from "../trace/batch.ts";
import { userError } from "../trace/location.ts";
import type { Batched } from "../trace/op.ts";
import { traceRegion } from "../trace/region.ts";
import { tensorType } from "../trace/type.ts";
import type { Value } from "../trace/value.ts";
import { type Flat, flat, grow, placeText } from "./tree.ts";

/** Mapped axis of each argument; null passes the argument whole to every example. */
export interface VmapOptions {
  /** One for all arguments, or one for each. Default: 0. */
  readonly inAxes?: number | readonly (number | null)[];
  /** Position of the mapped axis in the results. Default: 0. */
  readonly outAxes?: number;
}

function moveAxis(x: Value, from: number, to: number): Value {
  if (from === to) return x;
  const order = Array.from({ length: x.ndim }, (_, i) => i).filter((i) => i !== from);
  order.splice(to, 0, from);
  return transpose(x, order);
}

/**
 * Makes a function of one example a function of many: the mapped axis runs through every operation at once.
 *
 * @example
 * ```ts
 * const perExample = vmap((x: Value, w: Value) => np.dot(w, x), { inAxes: [0, null] });
 * ```
 */
export function vmap<A extends readonly unknown[], const R>(
  fn: (...args: A) => R,
  options: VmapOptions = {},
): (...args: A) => R {
  return (...args) => {
    const parts = args.map((arg, i) => ({ flat: flat(arg), axis: axisOf(options.inAxes, i) }));
    const mapped = parts.flatMap(({ flat: part, axis }, i) =>
      part.values.map((value, k): Batched => {
        if (axis === null) return { value, batched: false };
        if (value.ndim === 0)
          throw userError(
            "VMAP_AXIS",
            `vmap: argument ${i}${placeText(part, k)} is a scalar and has no axis to map`,
            "set its inAxes to null to hand it to every example",
          );
        return { value: moveAxis(value, checkAxis("vmap", axis, value.ndim), 0), batched: true };
      }),
    );
    const size = sizeOf(mapped);
    const types = mapped.map(({ value, batched }) =>
      batched ? tensorType(value.dtype, value.shape.slice(1)) : value.type,
    );
    let result!: Flat; // set while the region is traced
    const region = traceRegion(types, (params) => {
      const rest = [...params];
      const given = parts.map(({ flat: part }) => grow(part.shape, rest.splice(0, part.values.length)));
      result = flat(fn(...(given as readonly unknown[] as A)));
      return result.values;
    });
    const captures = region.captures.map((value): Batched => ({ value, batched: false }));
    const outputs = batchRegion(region, [...mapped, ...captures], size).map((output) => {
      const value = batchedValue(output, size);
      return moveAxis(value, 0, checkAxis("vmap", options.outAxes ?? 0, value.ndim));
    });
    return grow(result.shape, outputs) as R;
  };
}

function axisOf(inAxes: VmapOptions["inAxes"], argument: number): number | null {
  if (inAxes === undefined) return 0;
  if (typeof inAxes === "number") return inAxes;
  const axis = Array.isArray(inAxes) ? (inAxes[argument] as unknown) : inAxes;
  if (axis !== undefined && axis !== null && typeof axis !== "number")
    throw userError(
      "VMAP_AXIS",
      `vmap: the axis of argument ${argument} in inAxes is ${JSON.stringify(axis) ?? typeof axis}, but all leaves of an argument are mapped alike`,
      "give one axis or null for every argument, and pass what is mapped otherwise as another argument",
    );
  if (axis === undefined)
    throw userError(
      "VMAP_AXIS",
      `vmap: inAxes has ${inAxes.length} entries and the call has more arguments`,
      "give an axis or null for every argument",
    );
  return axis;
}

function sizeOf(mapped: readonly Batched[]): number {
  const sizes = new Set(mapped.filter((input) => input.batched).map(({ value }) => value.shape[0] as number));
  const [size] = sizes;
  if (size === undefined)
    throw userError(
      "VMAP_AXIS",
      "vmap: no argument is mapped",
      "give at least one argument an axis in inAxes",
    );
  if (sizes.size > 1)
    throw userError(
      "VMAP_AXIS",
      `vmap: the mapped axes have different lengths: ${[...sizes].join(", ")}`,
      "map axes of equal length",
    );
  return size;
}
