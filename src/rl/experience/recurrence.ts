import { np, scan, type Value } from "../../engine/index.ts";

export interface RecurrenceOptions {
  /** From the last step to the first. */
  readonly reverse?: boolean;
  /**
   * In log2(steps) steps over everything at once, which a GPU and wasm take for a hundredth of what a loop costs
   * there; or in one loop, which xla on a CPU turns into a few instructions a step. The same up to rounding.
   */
  readonly parallel?: boolean;
}

/** y_t = x_t + f_t y_(t-1) along the first axis, with y = 0 before the first step. */
export function recurrence(inputs: Value, factors: Value, options: RecurrenceOptions = {}): Value {
  const { reverse = false, parallel = true } = options;
  const [steps = 0, ...shape] = inputs.shape;
  if (!parallel)
    return scan(
      (before: Value, at: { readonly x: Value; readonly f: Value }) => {
        const now = at.x.add(at.f.mul(before));
        return [now, now] as const;
      },
      np.zeros(shape),
      { x: inputs, f: factors },
      { reverse },
    )[1];
  // After a round, y_t holds the last `by` steps up to t, and f_t how what came before them reaches t.
  let [y, f] = [inputs, factors];
  for (let by = 1; by < steps; by *= 2) {
    y = y.add(f.mul(moved(y, by, reverse)));
    if (2 * by < steps) f = f.mul(moved(f, by, reverse));
  }
  return y;
}

/** What stands so many steps before (in the direction of the recurrence), and 0 where there is nothing. */
function moved(x: Value, by: number, reverse: boolean): Value {
  const [steps = 0, ...shape] = x.shape;
  const rest = shape.map(() => [0, 0] as const);
  return reverse
    ? np.pad(np.slice(x, [by, steps]), [[0, by], ...rest])
    : np.pad(np.slice(x, [0, steps - by]), [[by, 0], ...rest]);
}
