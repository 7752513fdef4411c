import { EspalierError } from "../../core/index.ts";
import { np, type Value } from "../../engine/index.ts";
import { flatSize, partNames, partOf } from "./sizes.ts";
import type { Space } from "./space.ts";
import type { PartsOf } from "./values.ts";

/**
 * The parts of flat observation rows [..., flat size], by name: a box is [..., ...shape], choices are one-hot
 * [..., n]. A space without names is one part.
 *
 * @example
 * ```ts
 * const { camera, gear } = partsOf(observationSpace, observation);
 * const features = np.concatenate([encoder.apply(params.encoder, camera), gear], { axis: -1 });
 * ```
 */
export function partsOf<S extends Space>(space: S, value: Value): PartsOf<S> {
  const size = flatSize(space);
  const last = value.shape.at(-1);
  if (last !== size)
    throw new EspalierError(
      "SHAPE_MISMATCH",
      `partsOf: the rows have ${last ?? "no"} numbers, and an observation of this space has ${size}`,
      { fix: "pass flat observations [..., flatSize(space)] of the same space" },
    );
  return cut(space, value, 0) as PartsOf<S>;
}

type Parts = Value | { readonly [name: string]: Parts };

function cut(space: Space, row: Value, at: number): Parts {
  if (space.kind === "dict") {
    let from = at;
    return Object.fromEntries(
      partNames(space).map((name) => {
        const part = partOf(space, name);
        from += flatSize(part);
        return [name, cut(part, row, from - flatSize(part))];
      }),
    );
  }
  const size = flatSize(space);
  const whole = at === 0 && row.shape.at(-1) === size ? row : np.slice(row, "...", [at, at + size]);
  return space.kind === "box" ? np.reshape(whole, [...row.shape.slice(0, -1), ...space.shape]) : whole;
}
