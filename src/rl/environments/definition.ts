import type { Space } from "../spaces/space.ts";
import type { ValueFor, ValueIn } from "../spaces/values.ts";
import type { Drawing, Environment, Reset, ResetOptions, Step } from "./environment.ts";
import type { EnvironmentRandom } from "./random.ts";

/** A list with an entry an agent where `agents` is given, else the thing itself. */
export type PerAgent<N extends number | undefined, T> = N extends number ? readonly T[] : T;

/** How an episode begins, for {@link Definition.initial}. */
export interface InitialOptions {
  /** Which lesson, by index; 0 unless told otherwise. */
  readonly lesson: number;
}

/** What a definition's `step` gives. */
export interface Outcome<State, N extends number | undefined = undefined> {
  readonly state: State;
  readonly reward: PerAgent<N, number>;
  /** The episode is over. */
  readonly terminated: boolean;
  /** The episode is broken off, beside its `timeLimit`. Default false. */
  readonly truncated?: boolean;
  readonly info?: Readonly<Record<string, unknown>>;
}

/** An environment in functions of its state, which is a plain tree: see `defineEnvironment`. */
export interface Definition<
  State,
  O extends Space = Space,
  A extends Space = Space,
  N extends number | undefined = undefined,
> {
  readonly name: string;
  readonly observation: O;
  readonly action: A;
  /** How many agents act at once. Where it is given, actions, rewards and observations are lists with one for each. */
  readonly agents?: N;
  /** Names of its lessons. */
  readonly lessons?: readonly string[];
  /** After so many steps an episode is truncated. Default never. */
  readonly timeLimit?: number;
  /** The state in which an episode begins. */
  initial(random: EnvironmentRandom, options: InitialOptions): State;
  /** What an action leads to. The state given may be changed and given back, or left alone. */
  step(state: State, action: PerAgent<N, ValueIn<A>>, random: EnvironmentRandom): Outcome<State, N>;
  /** What is seen. It is copied. */
  observe(state: State): PerAgent<N, ValueFor<O>>;
  /** 1 or 0 for each choice, of all choices in a row, of all agents one after the other. It is copied. */
  actionMask?(state: State): ArrayLike<number | boolean>;
  draw?(state: State): Drawing;
}

/** An environment that knows its spaces' types. */
export interface TypedEnvironment<
  O extends Space = Space,
  A extends Space = Space,
  N extends number | undefined = undefined,
> extends Environment {
  readonly observationSpace: O;
  readonly actionSpace: A;
  reset(options?: ResetOptions): Reset<PerAgent<N, ValueIn<O>>>;
  step(action: PerAgent<N, ValueFor<A>>): Step<PerAgent<N, ValueIn<O>>, PerAgent<N, number>>;
}
