import { EspalierError } from "../../core/index.ts";
import { np, Spec, type Value } from "../../engine/index.ts";

/** A compiled environment's state in plain numbers: the same names, scalars as numbers or booleans, the rest as lists. */
export type PlainState = { readonly [name: string]: number | boolean | ArrayLike<number> | PlainState };

type Tree<T> = { readonly [name: string]: T | Tree<T> };

interface Place {
  readonly path: readonly string[];
  readonly spec: Spec;
  readonly size: number;
}

const placesOf = (tree: Tree<Spec>, path: readonly string[] = []): readonly Place[] =>
  Object.keys(tree).flatMap((name) => {
    const item = tree[name] as Spec | Tree<Spec>;
    const here = [...path, name];
    if (!(item instanceof Spec)) return placesOf(item, here);
    return [{ path: here, spec: item, size: item.shape.reduce((product, n) => product * n, 1) }];
  });

const at = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce((part, name) => (part as Tree<unknown> | undefined)?.[name], tree);

/** States of a shape as rows of numbers, on the host and inside a program. */
export interface StateRows {
  /** What each number of a row is. */
  readonly names: readonly string[];
  plain(state: PlainState): Float32Array;
  /** From f32 [width] to a state, and back. */
  read(row: Value): Tree<Value>;
  write(state: Tree<Value>): Value;
}

/** How states built like this one are laid out. */
export function stateRows(owner: string, shape: Tree<Spec>): StateRows {
  const places = placesOf(shape);
  const numbers = (state: PlainState, { path, size }: Place): readonly number[] => {
    const found = at(state, path) as number | boolean | ArrayLike<number> | undefined;
    const list = Array.from(typeof found === "object" ? found : [found], Number);
    if (list.length === size && !list.some(Number.isNaN)) return list;
    throw new EspalierError(
      "STATE_INVALID",
      `${owner}: the converted state's ${path.join(".")} is ${JSON.stringify(found)}, where ${size} numbers belong`,
      { fix: "let `state` give what the compiled environment keeps, in plain numbers" },
    );
  };
  return {
    names: places.flatMap(({ path, size }) =>
      Array.from({ length: size }, (_, i) => (size === 1 ? path.join(".") : `${path.join(".")}[${i}]`)),
    ),
    plain: (state) => Float32Array.from(places.flatMap((place) => numbers(state, place))),
    read: (row) => {
      let end = 0;
      const build = (tree: Tree<Spec>): Tree<Value> =>
        Object.fromEntries(
          Object.keys(tree).map((name) => {
            const item = tree[name] as Spec | Tree<Spec>;
            if (!(item instanceof Spec)) return [name, build(item)];
            const from = end;
            end += item.shape.reduce((product, n) => product * n, 1);
            return [name, np.reshape(np.slice(row, [from, end]), item.shape).astype(item.dtype)];
          }),
        );
      return build(shape);
    },
    write: (state) =>
      np.concatenate(places.map(({ path }) => np.ravel(at(state, path) as Value).astype("f32"))),
  };
}
