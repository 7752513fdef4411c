import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  describeDifference,
  flatten,
  isPlainObject,
  leafCount,
  leafPaths,
  sameShape,
  type TreeShape,
  treeLeaves,
  treeMap,
  unflatten,
} from "./tree.ts";

/** Any tree whose leaves are numbers. */
const anyTree = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    fc.double(),
    fc.constantFrom(null, undefined),
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie("tree"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).tree;

const shapeOf = (tree: unknown): TreeShape => flatten(tree, []);

class Tensor {
  readonly inner = { data: 1 };
}

describe("flatten and unflatten", () => {
  it("give back the tree they took", () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        const leaves: unknown[] = [];
        const shape = flatten(tree, leaves);
        expect(unflatten(shape, leaves)).toStrictEqual(tree);
        expect(leafCount(shape)).toBe(leaves.length);
        expect(leafPaths(shape)).toHaveLength(leaves.length);
      }),
    );
  });

  it("do not see the order in which keys were written", () => {
    const leaves: unknown[] = [];
    const shape = flatten({ w: 1, b: 2 }, leaves);
    expect(leaves).toEqual([2, 1]);
    expect(shape).toEqual(shapeOf({ b: 2, w: 1 }));
  });

  it("append to the leaves already there, and start where they are told", () => {
    const leaves: unknown[] = ["earlier"];
    const shape = flatten([1, { x: 2 }], leaves);
    expect(leaves).toEqual(["earlier", 1, 2]);
    expect(unflatten(shape, leaves, 1)).toEqual([1, { x: 2 }]);
  });

  it("take class instances and typed arrays as leaves", () => {
    const tensor = new Tensor();
    const data = new Float32Array(3);
    expect(treeLeaves<unknown>({ tensor, data })).toEqual([data, tensor]);
  });

  it("keep a key called __proto__ as a key", () => {
    const tree: unknown = JSON.parse('{"__proto__": {"w": 1}}');
    const leaves: unknown[] = [];
    const built = unflatten(flatten(tree, leaves), leaves);
    expect(Object.keys(built as object)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(built)).toBe(Object.prototype);
  });
});

describe("leafPaths", () => {
  it("names each leaf as the user would write it", () => {
    const tree = { layers: [{ w: 1, b: 2 }, { w: 3 }], none: null, scale: 4 };
    expect(leafPaths(shapeOf(tree))).toEqual(["layers[0].b", "layers[0].w", "layers[1].w", "scale"]);
    expect(leafPaths(shapeOf(1))).toEqual([""]);
  });
});

describe("isPlainObject", () => {
  it.each([[{}], [Object.create(null)], [{ a: 1 }]])("takes %o", (value) => {
    expect(isPlainObject(value)).toBe(true);
  });

  it.each([[null], [undefined], [1], ["x"], [[]], [new Tensor()], [new Map()], [() => 1]])(
    "leaves %o",
    (value) => {
      expect(isPlainObject(value)).toBe(false);
    },
  );
});

describe("sameShape and describeDifference", () => {
  it("agree with each other", () => {
    fc.assert(
      fc.property(anyTree, anyTree, (a, b) => {
        const difference = describeDifference(shapeOf(a), shapeOf(b));
        expect(sameShape(shapeOf(a), shapeOf(b))).toBe(difference === undefined);
      }),
    );
  });

  it("find no difference in a tree and its map", () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        expect(sameShape(shapeOf(tree), shapeOf(treeMap(() => 0, tree)))).toBe(true);
      }),
    );
  });

  it.each([
    [{ a: [1, 2] }, { a: [1] }, "a has 2 entries in one and 1 in the other"],
    [{ a: 1, b: 2 }, { a: 1, c: 2 }, 'the top has "b", "c" in only one of the two'],
    [{ a: [{ w: 1 }] }, { a: [{ w: [1] }] }, "a[0].w is a value in one and an array in the other"],
    [[null], [{}], "[0] is null in one and an object in the other"],
    [[1, 2], { 0: 1, 1: 2 }, "the top is an array in one and an object in the other"],
  ])("%j and %j: %s", (a, b, words) => {
    expect(describeDifference(shapeOf(a), shapeOf(b))).toBe(words);
  });
});

describe("treeMap", () => {
  it("maps every leaf in its place", () => {
    expect(treeMap((x: number) => x + 1, { w: [1, 2], b: null })).toEqual({ w: [2, 3], b: null });
  });

  it("walks further trees alongside", () => {
    const step = treeMap(
      (p: number, g: number, m: number) => p - g * m,
      { w: 10, b: [1] },
      { b: [2], w: 3 },
      { w: 2, b: [1] },
    );
    expect(step).toEqual({ w: 4, b: [-1] });
  });

  it("leaves the tree it was given as it was", () => {
    const tree = { w: [1, 2] };
    treeMap((x: number) => x * 2, tree);
    expect(tree).toEqual({ w: [1, 2] });
  });

  it("refuses trees that differ, and says where", () => {
    expect(() => treeMap((p: number) => p, { w: 1 }, { w: [1] })).toThrow(
      expect.objectContaining({
        code: "TREE_MISMATCH",
        message: expect.stringContaining("w is a value in one and an array in the other"),
      }),
    );
  });
});
