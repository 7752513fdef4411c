import { np, type Value } from "../../engine/index.ts";
import { shapeText } from "../layer.ts";
import { layerError } from "../path.ts";

/** Keys and values of the places so far, [batch, maxLength, heads, dim]; places to come hold anything. */
export type KeyValueCache = { readonly k: Value; readonly v: Value };

/** The cache with those of the places from `position` on. */
export function writeCache(
  cache: KeyValueCache,
  k: Value,
  v: Value,
  position: Value | number,
): KeyValueCache {
  const starts = [0, position, 0, 0];
  return {
    k: np.dynamicUpdateSlice(cache.k, k, starts),
    v: np.dynamicUpdateSlice(cache.v, v, starts),
  };
}

/** Refuses a cache that was made for other keys. */
export function checkCache(kind: string, cache: KeyValueCache, k: Value): void {
  const [batch, length, heads, dim] = k.shape;
  const shape = cache.k.shape;
  if (
    shape[0] === batch &&
    (shape[1] as number) >= (length as number) &&
    shape[2] === heads &&
    shape[3] === dim
  )
    return;
  throw layerError(
    kind,
    "SHAPE_MISMATCH",
    `the cache is ${shapeText(shape)}, but the new keys are ${shapeText(k.shape)}`,
    "make it with this model's initCache(batch, maxLength), for this batch and no fewer places",
  );
}
