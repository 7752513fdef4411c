import { describe, expect, it } from "vitest";
import { compile, type EngineName, put, type Tensor, type Value } from "../engine/index.ts";
import { testEngines } from "../engine/run/engines.test-support.ts";
import { TensorState } from "./tensor-state.ts";

/** Two small leaves, which may share an array, a large one, and a count. */
type Tree<T = Value> = { readonly a: T; readonly b: { readonly c: T; readonly d: T }; readonly n: T };

const treeOn = (engine: EngineName, first = 0): Tree<Tensor> => ({
  a: put(
    [
      [first, 1],
      [2, 3],
    ],
    { engine },
  ),
  b: { c: put([4, 5, 6], { engine }), d: put(new Float32Array(2000).fill(first), { engine }) },
  n: put(Int32Array.of(7), { engine, shape: [] }),
});

const numbers = async ({ a, b, n }: Tree<Tensor>) => [
  ...[...(await a.read())],
  ...[...(await b.c.read())],
  ...[...(await b.d.read())].slice(0, 2),
  await n.item(),
];

describe.each(testEngines().flatMap((engine) => [[engine, false] as const, [engine, true] as const]))(
  "a state of tensors on %s, donated: %s",
  (engine, donated) => {
    const stateOf = (tree: Tree<Tensor>, borrowed: boolean) =>
      new TensorState<Tree>("params", tree, { device: tree.a.device, donated, borrowed });
    const stepOf = ({ packing }: TensorState<Tree>) =>
      compile(
        (arrays: readonly Value[]) => {
          const { a, b, n } = packing.unpack(arrays);
          return packing.pack({ a: a.add(10), b: { c: b.c.mul(2), d: b.d.sub(1) }, n: n.add(1) });
        },
        { engine, ...(donated && { donate: [0] }) },
      );
    const run = (state: TensorState<Tree>, step: ReturnType<typeof stepOf>) => state.replace(step(state.now));

    it("goes from step to step and gives out the tree", async () => {
      const state = stateOf(treeOn(engine), false);
      const step = stepOf(state);
      run(state, step);
      run(state, step);
      expect(await numbers(state.getState() as Tree<Tensor>)).toEqual([
        20, 21, 22, 23, 16, 20, 24, -2, -2, 9,
      ]);
      expect(step.programs).toBe(1);
    });

    it("reads one leaf, wherever it is kept", async () => {
      const state = stateOf(treeOn(engine), false);
      run(state, stepOf(state));
      const read = async (leaf: number) => Array.from(await state.readLeaf(leaf)).slice(0, 4);
      expect([await read(0), await read(1), await read(2), await read(3)]).toEqual([
        [10, 11, 12, 13],
        [8, 10, 12],
        [-1, -1, -1, -1],
        [8],
      ]);
    });

    it("leaves what it gave out as it was", async () => {
      const state = stateOf(treeOn(engine), false);
      const step = stepOf(state);
      run(state, step);
      const before = state.getState() as Tree<Tensor>;
      run(state, step);
      run(state, step);
      expect(await numbers(before)).toEqual([10, 11, 12, 13, 8, 10, 12, -1, -1, 8]);
    });

    it("leaves what it was given to whoever gave it", async () => {
      const first = treeOn(engine);
      const state = stateOf(first, true);
      const step = stepOf(state);
      run(state, step);
      const second = treeOn(engine, 5);
      state.setState(second);
      run(state, step);
      run(state, step);
      expect(await numbers(first)).toEqual([0, 1, 2, 3, 4, 5, 6, 0, 0, 7]);
      expect(await numbers(second)).toEqual([5, 1, 2, 3, 4, 5, 6, 5, 5, 7]);
      state.setState(second);
      expect(await numbers(state.getState() as Tree<Tensor>)).toEqual(await numbers(second));
    });

    it("takes numbers in memory for tensors", async () => {
      const state = stateOf(treeOn(engine), false);
      const d = new Float32Array(2000).fill(3);
      state.setState({
        a: Float32Array.of(9, 8, 7, 6),
        b: { c: Float32Array.of(1, 2, 3), d },
        n: Int32Array.of(1),
      });
      expect(await numbers(state.getState() as Tree<Tensor>)).toEqual([9, 8, 7, 6, 1, 2, 3, 3, 3, 1]);
      expect(() => state.setState({ a: Float32Array.of(1), b: { c: d, d }, n: d })).toThrow(
        /a is 1 numbers.*f32\[2,2\].*STATE_MISMATCH/s,
      );
    });
  },
);
