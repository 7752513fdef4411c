import { badOption, didYouMean, EspalierError, isPlainObject, shown } from "../../core/index.ts";
import type { HostArray } from "../../engine/index.ts";
import type { StateTree } from "../../state/index.ts";
import type { Space, SpaceValue } from "../spaces/space.ts";

/** How an episode begins. */
export interface ResetOptions {
  /** Starts the environment's random numbers anew. Without it they go on where they are. */
  readonly seed?: number;
  /** Which of the environment's lessons, by index; the first unless told. */
  readonly lesson?: number;
}

/** The beginning of an episode. */
export interface Reset<O = SpaceValue> {
  readonly observation: O;
  readonly info?: Readonly<Record<string, unknown>>;
  /** Which actions are allowed now, where not all are: 1 or 0 for each choice, of all choices in a row. */
  readonly actionMask?: Uint8Array;
}

/** What an action led to. */
export interface Step<O = SpaceValue, R = number> extends Reset<O> {
  readonly reward: R;
  /** The episode is over, and what would follow counts nothing. */
  readonly terminated: boolean;
  /** The episode was broken off, and what would follow still counts. */
  readonly truncated: boolean;
}

/**
 * A world to act in, as Gymnasium has it: `reset`, then `step` until the episode is terminated or truncated. The same
 * seed and actions give the same episode.
 *
 * With several `agents`, observation and reward are lists with an entry an agent, action masks stand one after the
 * other, `step` takes a list of actions, and the episode ends for all at once.
 */
export interface Environment {
  readonly name: string;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** 1 unless given. */
  readonly agents?: number;
  /** Names of its lessons, where it has some. */
  readonly lessons?: readonly string[];
  reset(options?: ResetOptions): Reset<SpaceValue | readonly SpaceValue[]>;
  step(
    action: SpaceValue | readonly SpaceValue[],
  ): Step<SpaceValue | readonly SpaceValue[], number | readonly number[]>;
  /** Everything that decides how it goes on, random numbers included: an unfinished episode is part of a checkpoint. */
  getState(): StateTree;
  setState(state: StateTree): void;
  /** The present as a drawing. */
  render?(): Drawing;
  close?(): void;
}

/** A picture in units of its own, drawn as text for terminals and as SVG. */
export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Drawn in order; y grows downwards. */
  readonly shapes: readonly Shape[];
  /** A line under the picture. */
  readonly caption?: string;
}

/** Colours are CSS's names or `#rrggbb`. */
export type Shape =
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

/** What is wrong with something that was given, and what to do. */
export interface ResultFault {
  readonly what: string;
  readonly fix: string;
}

/** What somebody gave in place of something else, in words. */
export function kindOf(given: unknown): string {
  if (isPromise(given)) return "a promise: environments are synchronous";
  if (Array.isArray(given)) return "a list";
  if (ArrayBuffer.isView(given)) return `a ${given.constructor.name}`;
  return typeof given === "object" && given !== null ? "an object" : String(given);
}

export const isPromise = (given: unknown): boolean =>
  typeof (given as { readonly then?: unknown } | null | undefined)?.then === "function";

const wanted = {
  reset: "{ observation }",
  step: "{ observation, reward, terminated, truncated }",
} as const;

/** What is wrong with the kind of thing that an environment's `reset` or `step` gave, before its parts are looked at. */
export function resultFault(during: "reset" | "step", given: unknown): ResultFault | undefined {
  if ((given as { readonly observation?: unknown } | undefined)?.observation !== undefined) return undefined;
  const kind = kindOf(given);
  return {
    what: kind === "an object" ? "gave an object without an observation" : `gave ${kind}`,
    fix: isPromise(given)
      ? `give ${wanted[during]} itself and not a promise of it: leave async out of ${during}()`
      : `give ${wanted[during]}`,
  };
}

/** Refuses what cannot be what `reset` or `step` of an environment gives. */
export function checkResult<T>({ name }: Environment, during: "reset" | "step", given: T): T {
  const fault = resultFault(during, given);
  if (!fault) return given;
  throw new EspalierError("ENVIRONMENT_INVALID", `${name}: ${during}() ${fault.what}`, { fix: fault.fix });
}

/** Refuses what is no environment. */
export function checkMade(made: unknown, by: string): Environment {
  const { reset, step } = (made ?? {}) as Partial<Environment>;
  if (typeof reset === "function" && typeof step === "function") return made as Environment;
  throw new EspalierError("ENVIRONMENT_INVALID", `${by} gave ${kindOf(made)}, and no environment`, {
    fix: "let it return a new environment, with reset and step, at once",
  });
}

/** The state of an environment, which not every class has thought of. */
export function stateOf(environment: Environment): StateTree {
  if (typeof environment.getState === "function") return environment.getState();
  throw new EspalierError(
    "ENVIRONMENT_INVALID",
    `${environment.name} has no getState(), and its state is part of what is saved`,
    {
      fix: "give it getState() and setState(state), or make it by defineEnvironment",
    },
  );
}

/** The index of one of an environment's lessons, by its name or index. Default: the first. */
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

/** Refuses a lesson beside a curriculum, and either where it does not fit the environment's lessons. */
export function checkLessons(
  kind: string,
  { curriculum, lesson }: LessonChoice,
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

/** What chooses the lessons of a training. */
interface LessonChoice {
  readonly lesson?: string | number | undefined;
  readonly curriculum?: { readonly lessons: readonly string[] } | undefined;
}

/** Warns of an environment with several lessons of which a training takes the first because it was given no choice. */
export function warnOfOneLesson(
  kind: string,
  { curriculum, lesson }: LessonChoice,
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
 * A copy of a state that shares no memory with it: plain objects, lists, numbers, texts, booleans, null and typed
 * arrays. Refuses what cannot be saved, naming where it is.
 *
 * @example
 * ```ts
 * const kept = copyState({ board: new Uint8Array(9), turn: 0 });
 * ```
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
    fix: "keep plain objects, lists, typed arrays, numbers, texts, booleans and null in the state",
  });
}
