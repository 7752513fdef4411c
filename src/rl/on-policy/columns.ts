import { np, type Value } from "../../engine/index.ts";

/** A field of a row: the shape of one entry, [] for a number. */
export type FieldShapes = Readonly<Record<string, readonly number[]>>;

/**
 * Fields side by side in rows of f32: what is gathered travels, is kept and is picked from as one array, however many
 * fields it has.
 */
export class Columns {
  readonly names: readonly string[];
  readonly width: number;
  readonly #places: Readonly<Record<string, { readonly from: number; readonly shape: readonly number[] }>>;

  constructor(shapes: FieldShapes) {
    let width = 0;
    const places: Record<string, { from: number; shape: readonly number[] }> = {};
    for (const [name, shape] of Object.entries(shapes)) {
      places[name] = { from: width, shape };
      width += sizeOf(shape);
    }
    this.names = Object.keys(shapes);
    this.width = width;
    this.#places = places;
  }

  /** The first column of a field. */
  at(name: string): number {
    return this.#place(name).from;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#places, name);
  }

  /** Inside a program: rows [..., width] of fields [..., ...shape]. Booleans become 0 and 1. */
  pack(fields: Readonly<Record<string, Value>>): Value {
    const parts = this.names.map((name) => {
      const { shape } = this.#place(name);
      const value = (fields[name] as Value).astype("f32");
      const axes = value.shape.slice(0, value.ndim - shape.length);
      return np.reshape(value, [...axes, sizeOf(shape)]);
    });
    return np.concatenate(parts, { axis: -1 });
  }

  /** Inside a program: a field of rows [..., width]. */
  field(rows: Value, name: string): Value {
    const { from, shape } = this.#place(name);
    const axes = rows.shape.slice(0, -1);
    const part = np.slice(rows, "...", [from, from + sizeOf(shape)]);
    return np.reshape(part, [...axes, ...shape]);
  }

  /** Inside a program: all fields of rows. */
  fields(rows: Value): Readonly<Record<string, Value>> {
    return Object.fromEntries(this.names.map((name) => [name, this.field(rows, name)]));
  }

  #place(name: string) {
    const place = this.#places[name];
    if (place === undefined)
      throw new RangeError(`there is no column "${name}" among ${this.names.join(", ")}`);
    return place;
  }
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
