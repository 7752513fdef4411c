import { normals, sizeOf } from "./draw.ts";
import type { Initializer } from "./initializers.ts";
import { checkNumber, checkOptions } from "./options.ts";
import { layerError } from "./path.ts";

/** Options of {@link orthogonal}. */
export interface OrthogonalOptions {
  /** What the matrix is multiplied by; 1 unless told. */
  readonly gain?: number;
}

/**
 * A random orthogonal matrix: columns (or rows, where there are fewer) of length `gain`, all at right angles, every
 * such matrix equally likely. Axes before the last count as one.
 *
 * @example
 * ```ts
 * const policy = nn.dense(4, { init: nn.initializers.orthogonal({ gain: 0.01 }) });
 * ```
 */
export function orthogonal(options: OrthogonalOptions = {}): Initializer {
  checkOptions("orthogonal", options, ["gain"]);
  const gain = checkNumber("orthogonal", "gain", options.gain ?? 1);
  return (key, shape) => {
    sizeOf(shape);
    if (shape.length < 2)
      throw layerError(
        "orthogonal",
        "SHAPE_MISMATCH",
        `a parameter of shape [${shape.join(", ")}] is no matrix`,
        "use it for parameters of two axes or more",
      );
    const rows = shape.slice(0, -1).reduce((a, b) => a * b, 1);
    const columns = shape.at(-1) as number;
    const [long, short] = rows < columns ? [columns, rows] : [rows, columns];
    // Columns of a tall matrix, rows of a wide one.
    const vectors = orthonormal(key, long, short);
    const numbers = new Float32Array(rows * columns);
    vectors.forEach((vector, k) => {
      for (let i = 0; i < long; i++)
        numbers[rows < columns ? k * columns + i : i * columns + k] = gain * (vector[i] as number);
    });
    return numbers;
  };
}

/** In four sums, as each addition would otherwise wait for the one before. */
function dot(x: Float64Array, y: Float64Array, from: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = from;
  for (; i + 3 < x.length; i += 4) {
    a += (x[i] as number) * (y[i] as number);
    b += (x[i + 1] as number) * (y[i + 1] as number);
    c += (x[i + 2] as number) * (y[i + 2] as number);
    d += (x[i + 3] as number) * (y[i + 3] as number);
  }
  for (; i < x.length; i++) a += (x[i] as number) * (y[i] as number);
  return a + b + (c + d);
}

/** Mirrors `y` in the plane at right angles to the unit vector `v`, which is 0 before `from`. */
function mirror(v: Float64Array, y: Float64Array, from: number): void {
  const twice = 2 * dot(v, y, from);
  for (let i = from; i < y.length; i++) y[i] = (y[i] as number) - twice * (v[i] as number);
}

/**
 * `count` vectors of length 1 and at right angles: the Q of a matrix of normal numbers, by Householder's mirrors, with
 * the signs that make R's diagonal positive, without which not every Q would be equally likely.
 */
function orthonormal(key: Uint32Array, length: number, count: number): Float64Array[] {
  const drawn = normals(key, length * count);
  const columns = Array.from({ length: count }, (_, j) => drawn.slice(j * length, (j + 1) * length));
  const signs = columns.map((column, k) => {
    const size = Math.sqrt(dot(column, column, k));
    const sign = (column[k] as number) < 0 ? 1 : -1;
    column.fill(0, 0, k);
    column[k] = (column[k] as number) - sign * size;
    const norm = Math.sqrt(dot(column, column, k));
    if (norm > 0) for (let i = k; i < length; i++) column[i] = (column[i] as number) / norm;
    for (let j = k + 1; j < count; j++) mirror(column, columns[j] as Float64Array, k);
    return sign;
  });
  const vectors = signs.map((sign, j) => {
    const vector = new Float64Array(length);
    vector[j] = sign;
    return vector;
  });
  for (let k = count - 1; k >= 0; k--)
    for (let j = k; j < count; j++) mirror(columns[k] as Float64Array, vectors[j] as Float64Array, k);
  return vectors;
}
