import { expectTypeOf } from "vitest";
import * as np from "../np/index.ts";
import type { Value } from "../trace/value.ts";
import { cond, switchBranch } from "./branches.ts";
import { scan, whileLoop } from "./loops.ts";
import { vmap } from "./vmap.ts";

interface State {
  readonly h: Value;
  readonly c: Value;
}

declare const value: Value;
declare const state: State;
declare const lstm: (state: State, x: Value) => State;

// vmap: the same function, of one more axis.
expectTypeOf(vmap(lstm)).toEqualTypeOf<typeof lstm>();
const [first, second] = vmap((x: Value, w: Value) => [np.dot(w, x), x], { inAxes: [0, null] })(value, value);
expectTypeOf([first, second]).toEqualTypeOf<Value[]>();
// @ts-expect-error: the option is called inAxes
vmap(lstm, { inAxis: 0 });
// @ts-expect-error: an axis is a number, or null for none
vmap(lstm, { inAxes: [0, undefined] });
// @ts-expect-error: text is no value
vmap(lstm)(state, "x");

// scan: the carry keeps its type, results keep theirs, xs give slices of the same tree.
expectTypeOf(scan((s: State, x: Value) => [lstm(s, x), s.h], state, value)).toEqualTypeOf<
  [carry: State, ys: Value]
>();
const [[a, b], [ys, zs]] = scan(
  ([h, c], { x, mask }, index) => {
    expectTypeOf([h, c, x, mask, index]).toEqualTypeOf<Value[]>();
    return [
      [c, np.add(h, x)],
      [mask, { index }],
    ];
  },
  [value, value],
  { x: value, mask: value },
);
expectTypeOf([a, b, ys, zs.index]).toEqualTypeOf<Value[]>();

// Carries may be annotated as lists that can be changed, and there may be nothing to go through or to stack.
const [swapped, nothing] = scan(([h, c]: [Value, Value]) => [[c, h], null], [value, value], undefined, {
  length: value,
  maxLength: 8,
  reverse: true,
});
expectTypeOf(swapped).toEqualTypeOf<[Value, Value]>();
expectTypeOf(nothing).toBeNull();

function repeat<C>(step: (carry: C) => C, init: C): C {
  return scan((carry: C) => [step(carry), null], init, undefined, { length: 3 })[0];
}
expectTypeOf(repeat((s: State) => s, state)).toEqualTypeOf<State>();

// @ts-expect-error: the body returns the carry and a result
scan((sum: Value, x: Value) => np.add(sum, x), value, value);
// @ts-expect-error: the carry changes its keys
scan((s: State, x: Value) => [{ h: x }, s.c], state, value);
// @ts-expect-error: the slices are not what the body takes
scan((sum: Value, x: { readonly y: Value }) => [sum, x.y], value, value);
// @ts-expect-error: the option is called length
scan((sum: Value) => [sum, null], value, undefined, { count: 3 });

// whileLoop
const grown = whileLoop(
  ({ h }: State) => np.less(np.sum(h), 10),
  ({ h, c }) => ({ h: np.add(h, c), c }),
  state,
);
expectTypeOf(grown).toEqualTypeOf<State>();
const [x] = whileLoop(
  ([n]) => np.less(n, 3),
  ([n]) => [np.add(n, 1)],
  [value],
);
expectTypeOf(x).toEqualTypeOf<Value>();
const same = (s: State): State => s;
// @ts-expect-error: the condition is one truth value
whileLoop(same, same, state);

// cond and switchBranch: operands go to every branch, and branches give one type.
const [even, odd] = cond(
  np.equal(value, 0),
  (s: State) => [s, s.h],
  (s: State) => [s, s.c],
  state,
);
expectTypeOf(even).toEqualTypeOf<State>();
expectTypeOf(odd).toEqualTypeOf<Value>();
expectTypeOf(
  cond(
    true,
    () => value,
    () => np.zeros([]),
  ),
).toEqualTypeOf<Value>();
expectTypeOf(switchBranch(value, [lstm, (s: State) => s], state, value)).toEqualTypeOf<State>();
// @ts-expect-error: an operand is missing
cond(true, lstm, lstm, state);
// @ts-expect-error: the branches give different trees
cond(true, same, ({ h }: State) => h, state);
// @ts-expect-error: branches stand in a list
switchBranch(value, lstm, state, value);
