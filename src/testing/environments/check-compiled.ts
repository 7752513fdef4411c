import { EspalierError } from "../../core/index.ts";
import {
  compile,
  type EngineChoice,
  evalShape,
  np,
  Spec,
  spec,
  type Value,
  vmap,
} from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import {
  type CompiledEnvironment,
  type Environment,
  type Reset,
  type SpaceValue,
  whyOutside,
} from "../../rl/index.ts";
import type { StateTree } from "../../state/index.ts";
import { playSteps } from "./play-steps.ts";

/** Options of {@link checkCompiledEnvironment}. */
export interface CompiledCheckOptions {
  /** Turns a state that the ordinary environment saves into one of the compiled environment. */
  readonly state: (saved: StateTree) => PlainState;
  /** Steps to play, with random actions. Default: 1000. */
  readonly steps?: number;
  readonly seed?: number;
  /** Begins episodes, to reach what random actions seldom reach. Default: by `reset`, lessons taking turns. */
  readonly begin?: (environment: Environment) => Reset<SpaceValue | readonly SpaceValue[]>;
  /** The difference that numbers may have, relative to those larger than 1. Default: 1e-5. */
  readonly tolerance?: number;
  readonly engine?: EngineChoice;
}

/**
 * Plays an ordinary environment with random actions, and lets the compiled one take each step from the same state.
 * Spaces, observations, rewards, endings, action masks and the states reached must agree, and observations lie within
 * their bounds; the first that does not is named in the error.
 *
 * @example
 * ```ts
 * await checkCompiledEnvironment(compiledWalk, makeWalk(), {
 *   state: (saved) => ({ at: (saved as { state: { at: number } }).state.at }),
 * });
 * ```
 */
export async function checkCompiledEnvironment<S extends Named>(
  compiled: CompiledEnvironment<S>,
  ordinary: Environment,
  options: CompiledCheckOptions,
): Promise<void> {
  const { name, agents = 1 } = compiled;
  const differ = (what: string, ours: unknown, theirs: unknown): EspalierError =>
    new EspalierError(
      "COMPILED_ENVIRONMENT_DISAGREES",
      `${name}: ${what} is ${ours} in the compiled environment and ${theirs} in the ordinary one`,
      { fix: "let both follow the same rules; a converted state that lacks something looks like this, too" },
    );
  for (const part of ["name", "observationSpace", "actionSpace", "agents", "lessons"] as const) {
    const [ours, theirs] = [described(compiled[part], part), described(ordinary[part], part)];
    if (ours !== theirs) throw differ(part, ours, theirs);
  }
  const shape = evalShape(
    (key: Value, lesson: Value) => compiled.reset(key, lesson),
    spec([2], "u32"),
    spec([], "i32"),
  );
  const rows = stateRows(name, shape as never);
  const { steps = 1000, seed = 0, tolerance = 1e-5 } = options;
  const played = playSteps(ordinary, {
    ...options,
    steps,
    seed,
    state: (saved) => rows.plain(options.state(saved)),
  });
  const follow = compile(
    (states: Value, actions: Value) => {
      const one = (row: Value, action: Value) => {
        const before = rows.read(row) as S;
        const given = agents > 1 ? np.reshape(action, [agents, -1]) : action;
        const { state, reward, terminated, truncated } = compiled.step(
          before,
          given,
          np.zeros([2], { dtype: "u32" }),
        );
        const mask = compiled.actionMask?.(state);
        const found = {
          before: compiled.observe(before),
          observation: compiled.observe(state),
          reward,
          terminated,
          truncated,
          ...(mask && { mask }),
          state: rows.write(state),
        };
        return Object.fromEntries(
          Object.entries(found).map(([part, x]) => [part, np.ravel(x).astype("f32")]),
        );
      };
      return vmap(one)(np.reshape(states, [steps, -1]), np.reshape(actions, [steps, -1]));
    },
    { ...(options.engine && { engine: options.engine }), name },
  );
  const found = follow(played.states, played.actions);
  const width = rows.names.length;
  for (const [part, theirs] of Object.entries(played.results)) {
    const ours = await found[part]?.read();
    if (ours?.length !== theirs.length)
      throw differ(`the number of ${part} numbers`, ours?.length ?? 0, theirs.length);
    const wrong = theirs.findIndex((x, i) => !near(ours[i] as number, x, tolerance));
    if (wrong < 0) continue;
    const size = theirs.length / steps;
    const step = Math.floor(wrong / size);
    const within = part === "state" ? rows.names[wrong % width] : size === 1 ? "" : `[${wrong % size}]`;
    const action = played.actions
      .subarray((step * played.actions.length) / steps)
      .slice(0, played.actions.length / steps);
    throw differ(`step ${step}, action [${action}]: ${part} ${within}`.trim(), ours[wrong], theirs[wrong]);
  }
  checkBounds(compiled, (await found.observation?.read()) as Float32Array, steps);
}

/** Refuses observations beyond the bounds of a box, which training does not check. */
function checkBounds(
  { name, observationSpace, agents = 1 }: Pick<CompiledEnvironment, "name" | "observationSpace" | "agents">,
  observations: Float32Array,
  steps: number,
): void {
  if (observationSpace.kind !== "box") return;
  const size = observations.length / steps / agents;
  for (let row = 0; row < steps * agents; row++) {
    const why = whyOutside(observationSpace, observations.slice(row * size, (row + 1) * size));
    if (why !== undefined)
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${name}: step ${Math.floor(row / agents)}: an observation is not of its space: ${why}`,
        { fix: "declare the bounds as they are, or clip what observe gives" },
      );
  }
}

const near = (a: number, b: number, tolerance: number): boolean =>
  Object.is(a, b) || Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));

/** As text, with infinite bounds told from null. */
const described = (value: unknown, part: string): string =>
  JSON.stringify(value ?? (part === "agents" ? 1 : "none"), (_, x) =>
    x === Infinity || x === -Infinity ? `${x}` : x,
  );

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
interface StateRows {
  /** The meaning of each number of a row. */
  readonly names: readonly string[];
  plain(state: PlainState): Float32Array;
  /** From f32 [width] to a state, and back. */
  read(row: Value): Tree<Value>;
  write(state: Tree<Value>): Value;
}

/** The layout of states built like this one. */
function stateRows(owner: string, shape: Tree<Spec>): StateRows {
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
