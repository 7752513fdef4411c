import { np, type Value } from "../../../engine/index.ts";
import type { Space } from "../../spaces/space.ts";
import type { CompiledEnvironment } from "../compiled.ts";

/** What the ordinary and the compiled form of an environment share. */
interface Classic {
  readonly name: string;
  readonly observation: Space;
  readonly action: Space;
  /** Steps after which an episode is truncated. */
  readonly timeLimit: number;
}

/** The state of a compiled classic: its numbers, f32 [n], and the steps of the episode. */
export type MotionState = { readonly motion: Value; readonly steps: Value };

/** An environment of a few numbers that move, as functions of traced values. */
interface MotionRules {
  start(key: Value): Value;
  move(
    motion: Value,
    action: Value,
  ): { readonly motion: Value; readonly reward: Value; readonly terminated: Value };
  /** Default: the numbers themselves. */
  observe?(motion: Value): Value;
}

/** The compiled form of a classic: it counts steps, and truncates episodes. */
export function compiledClassic(
  { name, observation, action, timeLimit }: Classic,
  { start, move, observe = (motion) => motion }: MotionRules,
): () => CompiledEnvironment<MotionState> {
  const compiled: CompiledEnvironment<MotionState> = {
    name,
    observationSpace: observation,
    actionSpace: action,
    reset: (key) => ({ motion: start(key), steps: np.zeros([], { dtype: "i32" }) }),
    step: (state, action) => {
      const steps = state.steps.add(1);
      const { motion, ...outcome } = move(state.motion, action);
      return { state: { motion, steps }, ...outcome, truncated: np.greaterEqual(steps, timeLimit) };
    },
    observe: ({ motion }) => observe(motion),
  };
  return () => compiled;
}
