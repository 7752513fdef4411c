import { np, type Value } from "../../engine/index.ts";

/** x where rows count, and 0 elsewhere: not even what is no number there reaches a sum or a derivative. */
export const countedRows = (x: Value, valid: Value): Value =>
  np.where(np.notEqual(valid, 0), x, np.zerosLike(x));

/**
 * The mean of [rows] over those that are valid, and 0 where none is.
 *
 * @example
 * ```ts
 * const loss = meanOf(np.square(outputs.value.sub(batch.return)), batch.valid);
 * ```
 */
export const meanOf = (x: Value, valid: Value): Value =>
  np.divide(np.sum(countedRows(x, valid)), np.maximum(np.sum(valid), 1));

/** The variance over valid rows. */
export function varianceOf(x: Value, valid: Value): Value {
  return meanOf(np.square(x.sub(meanOf(x, valid))), valid);
}

/**
 * Numbers less their mean, by their deviation, both over valid rows: what PPO does to advantages. The deviation is that
 * of a sample (n - 1), to which 1e-8 is added, as PyTorch's implementations have it. A single row stays as it is: less
 * its own mean it would always be 0.
 *
 * @example
 * ```ts
 * const a = normalizedOver(batch.advantage, batch.valid);
 * ```
 */
export function normalizedOver(x: Value, valid: Value): Value {
  if (x.size === 1) return countedRows(x, valid);
  const away = countedRows(x.sub(meanOf(x, valid)), valid);
  const others = np.maximum(np.sum(valid).sub(1), 1);
  return away.div(np.sqrt(np.sum(np.square(away)).div(others)).add(1e-8));
}
