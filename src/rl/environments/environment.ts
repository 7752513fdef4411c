import { badOption, didYouMean, EspalierError, isPlainObject, shown } from "../../core/index.ts";
import type { HostArray } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import { valueKind } from "../spaces/contains.ts";
import { isSpace, type Space, type SpaceValue } from "../spaces/space.ts";

/** Options of `reset`. */
export interface ResetOptions {
  /** Seeds the environment's random numbers. Without it they go on where they are. */
  readonly seed?: number;
  /** Index of the lesson. Default: 0. */
  readonly lesson?: number;
}

/** The result of `reset`. */
export interface Reset<O = SpaceValue> {
  readonly observation: O;
  readonly info?: Readonly<Record<string, unknown>>;
  /** Allowed actions, if not all are: 1 or 0 for each choice, of all choices in a row. */
  readonly actionMask?: Uint8Array;
}

/** The result of `step`. */
export interface Step<O = SpaceValue, R = number> extends Reset<O> {
  readonly reward: R;
  /** The episode is over; no reward would follow. */
  readonly terminated: boolean;
  /** The episode was cut off; rewards would have followed. */
  readonly truncated: boolean;
}

/**
 * An environment to act in, as in Gymnasium: `reset`, then `step` until the episode is terminated or truncated. The
 * same seed and actions give the same episode.
 *
 * With several `agents`, observation and reward are lists with an entry per agent, action masks are concatenated,
 * `step` takes a list of actions, and the episode ends for all at once.
 */
export interface Environment {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** Default: 1. */
  readonly agents?: number;
  /** Names of its lessons. */
  readonly lessons?: readonly string[];
  reset(options?: ResetOptions): Reset<SpaceValue | readonly SpaceValue[]>;
  step(
    action: SpaceValue | readonly SpaceValue[],
  ): Step<SpaceValue | readonly SpaceValue[], number | readonly number[]>;
  /** Everything its future depends on, random numbers included: an unfinished episode is part of a checkpoint. */
  getState(): StateTree;
  setState(state: StateTree): void;
  /** Draws the present state. */
  render?(): Drawing;
  close?(): void;
}

/** A picture in units of its own, drawn as text for terminals and as SVG. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Drawn in order; y grows downwards. */
  readonly shapes: readonly DrawnShape[];
  /** A line under the picture. */
  readonly caption?: string;
}

/** Colours are CSS's names or `#rrggbb`. */
export type DrawnShape =
  | {
      readonly kind: "line";
      readonly from: readonly [x: number, y: number];
      readonly to: readonly [x: number, y: number];
      readonly color: string;
      readonly width?: number;
    }
  | {
      readonly kind: "rectangle";
      readonly at: readonly [x: number, y: number];
      readonly size: readonly [width: number, height: number];
      readonly color: string;
    }
  | {
      readonly kind: "circle";
      readonly at: readonly [x: number, y: number];
      readonly radius: number;
      readonly color: string;
    }
  | {
      readonly kind: "path";
      readonly points: readonly (readonly [x: number, y: number])[];
      readonly color: string;
      readonly filled?: boolean;
    };

/** A fault of a value that an environment returned, and how to fix it. */
export interface Fault {
  readonly what: string;
  readonly fix: string;
  readonly cause?: unknown;
}

/** Describes a value that was given in place of an expected one. */
export const kindOf = (given: unknown): string =>
  isPromise(given) ? "a promise: environments are synchronous" : valueKind(given);

export const isPromise = (given: unknown): boolean =>
  typeof (given as { readonly then?: unknown } | null | undefined)?.then === "function";

const wanted = {
  reset: "{ observation }",
  step: "{ observation, reward, terminated, truncated }",
} as const;

/** The fault of a result that is not an object with an observation, if it has one. */
export function resultFault(during: "reset" | "step", given: unknown): Fault | undefined {
  if ((given as { readonly observation?: unknown } | undefined)?.observation !== undefined) return undefined;
  const kind = kindOf(given);
  return {
    what: kind === "an object" ? "gave an object without an observation" : `gave ${kind}`,
    fix: isPromise(given)
      ? `give ${wanted[during]} itself and not a promise of it: leave async out of ${during}()`
      : `give ${wanted[during]}`,
  };
}

/** Refuses a result of `reset` or `step` that is not an object with an observation. */
export function checkResult<T>({ name }: Environment, during: "reset" | "step", given: T): T {
  const fault = resultFault(during, given);
  if (!fault) return given;
  throw new EspalierError("ENVIRONMENT_INVALID", `${name}: ${during}() ${fault.what}`, { fix: fault.fix });
}

/** Refuses a value that is no environment. */
export function checkMade(made: unknown, by: string): Environment {
  const { name, reset, step } = (made ?? {}) as Partial<Environment>;
  if (typeof reset !== "function" || typeof step !== "function")
    throw new EspalierError("ENVIRONMENT_INVALID", `${by} gave ${kindOf(made)}, and no environment`, {
      fix: "let it return a new environment, with reset and step, and no promise of one",
    });
  if (typeof name !== "string" || name === "")
    throw new EspalierError("ENVIRONMENT_INVALID", `${by} gave an environment without a name`, {
      fix: 'give it one, which messages and replays have: name: "my-game"',
    });
  return withSpaces(made as Environment);
}

/** The environment itself. Refuses one without the spaces of its observations and actions. */
export function withSpaces<E extends Pick<Environment, "name" | "observationSpace" | "actionSpace">>(
  environment: E,
): E {
  for (const member of ["observationSpace", "actionSpace"] as const)
    if (!isSpace(environment[member]))
      throw new EspalierError(
        "ENVIRONMENT_INVALID",
        `${environment.name}: ${member} is ${shown(environment[member])}, which is no space`,
        { fix: "make it with discrete, multiDiscrete, box or dict of espalier/rl" },
      );
  return environment;
}

/** The state of an environment. Refuses one without getState(). */
export function stateOf(environment: Environment): StateTree {
  if (typeof environment.getState === "function") return environment.getState();
  throw new EspalierError(
    "ENVIRONMENT_INVALID",
    `${environment.name} has no getState(), and its state is part of what is saved`,
    { fix: "give it getState() and setState(state), or make it by defineEnvironment" },
  );
}

/** The index of one of an environment's lessons, by its name or index. */
export function lessonOf(
  kind: string,
  { name, lessons = [] }: { readonly name: string; readonly lessons?: readonly string[] | undefined },
  lesson: string | number = 0,
): number {
  const index = typeof lesson === "string" ? lessons.indexOf(lesson) : lesson;
  if (!Number.isInteger(index))
    throw badOption(kind, `lesson is ${shown(lesson)}`, "give the name or the index of a lesson");
  if (index === 0 || (index > 0 && index < lessons.length)) return index;
  throw new EspalierError(
    "LESSON_UNKNOWN",
    `${name} has no lesson ${shown(lesson)}${typeof lesson === "string" ? didYouMean(lesson, lessons) : ""}`,
    { fix: lessons.length > 0 ? `its lessons are ${lessons.join(", ")}` : "leave the lesson out" },
  );
}

/** Refuses a lesson together with a curriculum, and either if it does not fit the environment's lessons. */
export function checkLessons(
  kind: string,
  { curriculum, lesson }: LessonOptions,
  environment: { readonly name: string; readonly lessons?: readonly string[] | undefined },
): void {
  if (lesson !== undefined) lessonOf(kind, environment, lesson);
  if (!curriculum) return;
  if (lesson !== undefined)
    throw badOption(
      kind,
      `lesson is ${shown(lesson)}, and a curriculum is given, which chooses lessons`,
      "leave one of them out",
    );
  const { lessons = [] } = environment;
  if (
    lessons.length === curriculum.lessons.length &&
    lessons.every((name, i) => name === curriculum.lessons[i])
  )
    return;
  throw new EspalierError(
    "CURRICULUM_MISMATCH",
    `${kind}: the curriculum has the lessons ${curriculum.lessons.join(", ")}, and the environment ${lessons.join(", ") || "none"}`,
    { fix: "give the curriculum the environment's lessons, in its order" },
  );
}

/** Options that choose the lessons of a training. */
interface LessonOptions {
  readonly lesson?: string | number | undefined;
  readonly curriculum?: { readonly lessons: readonly string[] } | undefined;
}

/** Warns if an environment has several lessons and no option chooses among them: the first one is trained. */
export function warnOfOneLesson(
  kind: string,
  { curriculum, lesson }: LessonOptions,
  { name, lessons = [] }: { readonly name: string; readonly lessons?: readonly string[] | undefined },
  warn: (text: string) => void,
): void {
  if (lessons.length < 2 || curriculum || lesson !== undefined) return;
  warn(
    `${kind}: ${name} has ${lessons.length} lessons (${lessons.join(", ")}), and only "${lessons[0]}" is trained; ` +
      `choose one with lesson: "${lessons[0]}"${kind === "dqnTask" ? "" : ", or all with curriculum: lessonCurriculum({ lessons })"}`,
  );
}

/**
 * Copies a state: plain objects, lists, numbers, strings, booleans, null and typed arrays. Refuses anything that cannot
 * be saved, with its path.
 */
export const copyState = (state: unknown, owner: string): StateTree => copy(state, owner, "state");

const isHostArray = (value: object): value is HostArray =>
  value instanceof Float32Array ||
  value instanceof Float64Array ||
  value instanceof Int32Array ||
  value instanceof Uint32Array ||
  value instanceof Uint8Array;

function copy(value: unknown, owner: string, path: string): StateTree {
  switch (typeof value) {
    case "number":
    case "string":
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item, i) => copy(item, owner, `${path}[${i}]`));
      if (isHostArray(value)) return value.slice();
      if (isPlainObject(value)) {
        const copied: Record<string, StateTree> = {};
        for (const name in value) copied[name] = copy(value[name], owner, `${path}.${name}`);
        return copied;
      }
  }
  const what =
    value === undefined
      ? "undefined"
      : `a ${typeof value === "object" ? value?.constructor?.name : typeof value}`;
  throw new EspalierError("STATE_INVALID", `${owner}: ${path} is ${what}, which cannot be saved`, {
    fix: "keep plain objects, lists, typed arrays, numbers, strings, booleans and null in the state",
  });
}
