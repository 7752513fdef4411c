import type { Shape } from "../../engine/index.ts";
import type { Dense } from "../dense.ts";
import { build, dense, element, places } from "../dense.ts";
import type { Reference } from "../sample.ts";

interface Rows {
  readonly batchDims: number;
}

const clamp = (i: number, high: number): number => Math.max(0, Math.min(i, high));

/** Where the element at `index` of the rows that indices name comes from, or goes to. */
function rowPlace(indices: Dense, index: readonly number[], batchDims: number): number[] {
  const rank = indices.shape.length;
  return [...index.slice(0, batchDims), element(indices, index.slice(0, rank)), ...index.slice(rank)];
}

const gather: Reference = (inputs, { batchDims }: Rows) => {
  const [operand, indices] = inputs as readonly [Dense, Dense];
  const shape = [...indices.shape, ...operand.shape.slice(batchDims + 1)];
  const high = (operand.shape[batchDims] as number) - 1;
  return [
    build(operand.dtype, shape, (index) => {
      const place = rowPlace(indices, index, batchDims);
      place[batchDims] = clamp(place[batchDims] as number, high);
      return element(operand, place);
    }),
  ];
};

/** Goes through all updates in order; those out of range are dropped. */
const scatter =
  (join: (old: number, update: number) => number): Reference =>
  (inputs, { batchDims }: Rows) => {
    const [operand, indices, updates] = inputs as readonly [Dense, Dense, Dense];
    const data = [...operand.data];
    for (const index of places(updates.shape)) {
      const place = rowPlace(indices, index, batchDims);
      const row = place[batchDims] as number;
      if (row < 0 || row >= (operand.shape[batchDims] as number)) continue;
      const flat = place.reduce((sum, i, d) => sum * (operand.shape[d] as number) + i, 0);
      data[flat] = join(data[flat] as number, element(updates, index));
    }
    return [dense(operand.dtype, operand.shape, data)];
  };

const lastWrites: Reference = (inputs) => {
  const [indices] = inputs as readonly [Dense];
  const axis = indices.shape.length - 1;
  const count = indices.shape[axis] as number;
  return [
    build("i32", indices.shape, (index) => {
      const mine = element(indices, index);
      const later = Array.from({ length: count }, (_, i) => i).slice((index[axis] as number) + 1);
      const overruled = later.some((i) => element(indices, [...index.slice(0, axis), i]) === mine);
      return overruled ? -1 : mine;
    }),
  ];
};

/** Starts moved so that a window of these sizes fits. */
const fitting = (starts: readonly Dense[], shape: Shape, sizes: Shape): number[] =>
  starts.map((start, d) => clamp(start.data[0] as number, (shape[d] as number) - (sizes[d] as number)));

const dynamicSlice: Reference = (inputs, { sizes }: { readonly sizes: Shape }) => {
  const [x, ...starts] = inputs as readonly [Dense, ...Dense[]];
  const from = fitting(starts, x.shape, sizes);
  return [
    build(x.dtype, sizes, (index) =>
      element(
        x,
        index.map((i, d) => i + (from[d] as number)),
      ),
    ),
  ];
};

const dynamicUpdateSlice: Reference = (inputs) => {
  const [x, update, ...starts] = inputs as readonly [Dense, Dense, ...Dense[]];
  const from = fitting(starts, x.shape, update.shape);
  return [
    build(x.dtype, x.shape, (index) => {
      const inside = index.map((i, d) => i - (from[d] as number));
      const covered = inside.every((i, d) => i >= 0 && i < (update.shape[d] as number));
      return covered ? element(update, inside) : element(x, index);
    }),
  ];
};

const sort: Reference = (inputs, { axis }: { readonly axis: number }) => {
  const [keys] = inputs as readonly [Dense];
  const along = Array.from({ length: keys.shape[axis] as number }, (_, i) => i);
  const order = (index: readonly number[]): number[] => {
    const key = (i: number) =>
      element(
        keys,
        index.map((n, d) => (d === axis ? i : n)),
      );
    return [...along].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      return x - y || 0;
    });
  };
  return inputs.map((x) =>
    build(x.dtype, x.shape, (index) => {
      const from = order(index)[index[axis] as number] as number;
      return element(
        x,
        index.map((n, d) => (d === axis ? from : n)),
      );
    }),
  );
};

const cumsum: Reference = (
  inputs,
  { axis, reverse }: { readonly axis: number; readonly reverse: boolean },
) => {
  const [x] = inputs as readonly [Dense];
  const along = Array.from({ length: x.shape[axis] as number }, (_, i) => i);
  return [
    build(x.dtype, x.shape, (index) => {
      const here = index[axis] as number;
      const summed = along.filter((i) => (reverse ? i >= here : i <= here));
      return summed.reduce(
        (sum, i) =>
          sum +
          element(
            x,
            index.map((n, d) => (d === axis ? i : n)),
          ),
        0,
      );
    }),
  ];
};

export const indexingReferences: Readonly<Record<string, Reference>> = {
  gather,
  scatterAdd: scatter((old, update) => old + update),
  scatterSet: scatter((_old, update) => update),
  lastWrites,
  dynamicSlice,
  dynamicUpdateSlice,
  sort,
  cumsum,
};
