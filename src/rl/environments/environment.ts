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
