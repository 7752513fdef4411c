import { EspalierError, leavesByPath, shown, treeMap } from "../../core/index.ts";
import { np, random, type Value, vmap } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { CompiledEnvironment } from "../environments/compiled.ts";
import { actionSize, choices, flatSize } from "../spaces/index.ts";

/** State of the rows between steps: the carry of a scan, and what a checkpoint keeps of unfinished episodes. */
export type RowsState<S extends Named = Named> = {
  /** Of every environment, each value with a first axis of `count`. */
  readonly environment: S;
  /** Booleans [count]: the last step ended the episode, and the next one resets. */
  readonly resetDue: Value;
  /** f32 [rows]: rewards of the present episode so far. */
  readonly return: Value;
  /** i32 [count]: its steps so far. */
  readonly length: Value;
  /** i32 [count], where the environment has lessons. */
  readonly lesson?: Value;
};

/** The result of a step of all rows. Members that are not used cost nothing. */
export interface RowsStep<S extends Named = Named> {
  readonly state: RowsState<S>;
  /** f32 [rows]; 0 where this step reset. */
  readonly reward: Value;
  /** Booleans [rows]. */
  readonly terminated: Value;
  readonly truncated: Value;
  /** Where this step began an episode instead of acting. */
  readonly reset: Value;
  /** Booleans [rows]: this step ended an episode; f32 [rows]: its return and length, 0 elsewhere. */
  readonly ended: Value;
  readonly endedReturn: Value;
  readonly endedLength: Value;
}

/** Environments that step together inside a program. A row is an agent of one of them: `count * agents` rows. */
export interface CompiledRows<S extends Named = Named> {
  readonly environment: CompiledEnvironment<S>;
  readonly count: number;
  readonly agents: number;
  readonly rows: number;
  /** Numbers in a row of observations, and in a row of actions. */
  readonly size: number;
  readonly actions: number;
  /** How many lessons the environment has; 0 for none. */
  readonly lessons: number;
  /** Begins an episode everywhere. Without `shares` all have the first lesson. */
  init(key: Value, shares?: Value): RowsState<S>;
  /**
   * One step of every environment. `actions` is f32 [rows, actions], `key` of this step alone, and `shares` f32
   * [lessons] says how often episodes that begin here have each lesson; without it all have the first.
   */
  step(state: RowsState<S>, actions: Value, key: Value, shares?: Value): RowsStep<S>;
  /** f32 [rows, size]. */
  observe(state: RowsState<S>): Value;
  /** Booleans [rows, choices], where the environment has action masks. */
  mask?(state: RowsState<S>): Value;
}

/** Uses of one step's key. */
const purposes = { step: 0, reset: 1, lesson: 2 };

/**
 * Runs `count` copies of an environment together inside the compiled program. They reset by themselves one step after
 * an episode's end, as vector environments do: that step ignores the row's action, gives a reward of 0 and neither
 * ending, and sets `reset`.
 *
 * @example
 * ```ts
 * const carts = compiledRows(compiledCartPole(), 4);
 * const collect = compile((state: RowsState<MotionState>, key: Value) =>
 *   scan((now, _, i) => {
 *     const actions = policy(carts.observe(now)); // f32 [4, 1]
 *     const { state, reward } = carts.step(now, actions, random.foldIn(key, i));
 *     return [state, reward];
 *   }, state, undefined, { length: 128 }),
 * );
 * ```
 */
export function compiledRows<S extends Named>(
  environment: CompiledEnvironment<S>,
  count: number,
): CompiledRows<S> {
  const agents = environment.agents ?? 1;
  const lessons = environment.lessons?.length ?? 0;
  const rows = count * agents;
  const size = flatSize(environment.observationSpace);
  const actions = actionSize(environment.actionSpace);
  /** Repeats a value of each environment for its rows; merges and splits the axes of environments and agents. */
  const toRows = (x: Value): Value => (agents === 1 ? x : np.repeat(x, agents));
  const byRow = (x: Value): Value => (agents === 1 ? x : np.reshape(x, [rows, ...x.shape.slice(2)]));
  const byEnvironment = (x: Value): Value =>
    agents === 1 ? x : np.reshape(x, [count, agents, ...x.shape.slice(1)]);

  const begin = (key: Value, shares: Value | undefined): { state: S; lesson: Value } => {
    const lesson =
      shares && lessons > 1
        ? drawLessons(environmentKeys(key, count, purposes.lesson), shares)
        : np.zeros([count], { dtype: "i32" });
    return { state: vmap(contract.reset)(environmentKeys(key, count, purposes.reset), lesson), lesson };
  };
  const contract = contractOf(environment);
  const { actionMask } = contract;

  return {
    environment,
    count,
    agents,
    rows,
    size,
    actions,
    lessons,
    init: (key, shares) => {
      const { state, lesson } = begin(key, shares);
      return {
        environment: state,
        resetDue: np.zeros([count], { dtype: "bool" }),
        return: np.zeros([rows]),
        length: np.zeros([count], { dtype: "i32" }),
        ...(lessons > 0 && { lesson }),
      };
    },
    step: (state, given, key, shares) => {
      const due = state.resetDue;
      const acting = np.logicalNot(due);
      const stepKeys = environmentKeys(key, count, purposes.step);
      const next = vmap(contract.step)(state.environment, byEnvironment(given), stepKeys);
      const fresh = begin(key, shares);
      const terminated = np.logicalAnd(next.terminated, acting);
      const truncated = np.logicalAnd(next.truncated, acting);
      const over = np.logicalOr(terminated, truncated);
      const dueRows = toRows(due);
      const reward = np.where(dueRows, 0, byRow(next.reward));
      const total = np.where(dueRows, 0, state.return.add(reward));
      const length = np.where(due, 0, state.length.add(1));
      const lesson = state.lesson && np.where(due, fresh.lesson, state.lesson);
      const ended = toRows(over);
      return {
        state: {
          environment: treeMap((a: Value, b: Value) => chosen(due, a, b), fresh.state, next.state),
          resetDue: over,
          return: total,
          length,
          ...(lesson && { lesson }),
        },
        reward,
        terminated: toRows(terminated),
        truncated: toRows(truncated),
        reset: dueRows,
        ended,
        endedReturn: np.where(ended, total, 0),
        endedLength: np.where(ended, toRows(length).astype("f32"), 0),
      };
    },
    observe: (state) => byRow(vmap(contract.observe)(state.environment)),
    ...(actionMask && { mask: (state) => byRow(vmap(actionMask)(state.environment)) }),
  };
}

/** The functions of a compiled environment, which refuse results that it must not give. */
function contractOf<S extends Named>(environment: CompiledEnvironment<S>) {
  const { name, agents = 1 } = environment;
  const axes = agents === 1 ? [] : [agents];
  const fail = (during: string, what: string): EspalierError =>
    new EspalierError("ENVIRONMENT_INVALID", `${name}: ${during}() gave ${what}`, {
      fix: "compare it with its ordinary form: checkCompiledEnvironment of espalier/testing",
    });
  const check = (during: string, member: string, value: unknown, shape: readonly number[]): void => {
    if (typeof value === "number" || typeof value === "boolean") return;
    const found = (value as Partial<Value> | undefined)?.shape;
    if (!found) throw fail(during, `${shown(value)} as ${member}`);
    if (String(found) !== String(shape))
      throw fail(during, `${member} of the shape [${found}], where [${shape}] is expected`);
  };
  const checkState = (during: string, state: unknown, before?: S): void => {
    if (typeof state !== "object" || state === null) throw fail(during, `${shown(state)} as state`);
    if (before === undefined) return;
    const [found, expected] = [leavesByPath<Value>(state), leavesByPath<Value>(before)];
    if (String([...found.keys()]) !== String([...expected.keys()]))
      throw fail(during, `a state of ${[...found.keys()]}, where it was of ${[...expected.keys()]}`);
    for (const [path, value] of expected) {
      const now = found.get(path);
      // A number takes any type.
      if (now?.shape !== undefined && typeText(now) !== typeText(value))
        throw fail(during, `a state whose ${path} is ${typeText(now)}, where it was ${typeText(value)}`);
    }
  };
  for (const member of ["reset", "step", "observe"] as const)
    if (typeof environment[member] !== "function")
      throw new EspalierError("ENVIRONMENT_INVALID", `${name} has no function ${member}`, {
        fix: "give all members of CompiledEnvironment",
      });
  return {
    reset: (key: Value, lesson: Value): S => {
      const state = environment.reset(key, lesson);
      checkState("reset", state);
      return state;
    },
    step: (state: S, action: Value, key: Value) => {
      const next = environment.step(state, action, key);
      checkState("step", next?.state, state);
      check("step", "reward", next.reward, axes);
      for (const member of ["terminated", "truncated"] as const) check("step", member, next[member], []);
      return next;
    },
    observe: (state: S): Value => {
      const observation = environment.observe(state);
      check("observe", "an observation", observation, [...axes, flatSize(environment.observationSpace)]);
      return observation;
    },
    actionMask:
      environment.actionMask &&
      ((state: S): Value => {
        const mask = environment.actionMask?.(state) as Value;
        check("actionMask", "a mask", mask, [...axes, choices(environment.actionSpace)]);
        return mask;
      }),
  };
}

const typeText = ({ dtype, shape }: Value): string => `${dtype}[${shape}]`;

/** Selects a where the environment's flag is set and b elsewhere, over all further axes. */
const chosen = (flags: Value, a: Value, b: Value): Value =>
  np.where(np.reshape(flags, [flags.shape[0] as number, ...a.shape.slice(1).fill(1)]), a, b);

/**
 * A key for each environment, u32 [count, 2], from the one key of a step. Threefry makes unrelated numbers of keys that
 * differ by little, so counting does what splitting would, without hashing. `purpose` separates the keys that one
 * environment needs in one step.
 */
function environmentKeys(key: Value, count: number, purpose: number): Value {
  const first = np.slice(key, 0).add(np.iota([count]).astype("u32"));
  const second = np.bitwiseXor(np.slice(key, 1), np.full([], purpose, { dtype: "u32" }));
  return np.stack([first, np.broadcastTo(second, [count])], { axis: 1 });
}

/**
 * Draws a lesson for each key, i32, by shares: f32 [lessons], none below 0, whose sum need not be exactly 1. A share of
 * 0 is never drawn.
 */
function drawLessons(keys: Value, shares: Value): Value {
  const upTo = np.cumsum(shares);
  const drawn = vmap((key: Value) => random.uniform(key))(keys).mul(np.slice(upTo, -1));
  const passed = np.lessEqual(np.slice(upTo, ":-1"), np.expandDims(drawn, 1));
  return np.sum(passed, { axis: 1, dtype: "i32" });
}
