import { box, discrete, type Environment, type Space } from "../../rl/index.ts";
import type { StateTree } from "../../state/index.ts";

/** How an environment can be wrong: parts of it, made from the right ones. */
export type Breaks = (right: Right) => Partial<Environment> | Record<string, unknown>;

/** A right environment and what is inside it. */
export interface Right extends Environment {
  readonly inside: Inside;
}

interface Inside {
  at: number;
  steps: number;
  random: number;
  board: Float32Array;
}

/**
 * A walk to 4 or -4 with noise, by hand, so that nothing guards it. It has a mask, two lessons and a drawing.
 */
export function broken(breaks: Breaks = () => ({})): Environment {
  const inside: Inside = { at: 0, steps: 0, random: 1, board: new Float32Array(2) };
  const draw = (): number => {
    inside.random = (Math.imul(inside.random, 1664525) + 1013904223) >>> 0;
    return inside.random / 2 ** 32;
  };
  const seen = () => ({
    observation: Float32Array.of(inside.at, inside.board[0] as number),
    actionMask: Uint8Array.of(1, 1, inside.at > 2 ? 0 : 1),
  });
  const right: Right = {
    inside,
    name: "Broken",
    observationSpace: box({ shape: [2], low: [-5, 0], high: [5, 1] }),
    actionSpace: discrete(3) as Space,
    lessons: ["left", "right"],
    reset({ seed, lesson = 0 } = {}) {
      if (seed !== undefined) inside.random = seed + 1;
      inside.at = lesson === 0 ? -1 : 1;
      inside.steps = 0;
      inside.board[0] = draw();
      return seen();
    },
    step(action) {
      inside.at += (action as number) - 1;
      inside.steps++;
      inside.board[0] = draw();
      return {
        ...seen(),
        reward: inside.at,
        terminated: Math.abs(inside.at) >= 4,
        truncated: inside.steps >= 30,
      };
    },
    getState: () => ({ ...inside, board: inside.board.slice() }),
    setState(state: StateTree) {
      const given = state as unknown as Inside;
      Object.assign(inside, given, { board: given.board.slice() });
    },
    render: () => ({ width: 1, height: 1, shapes: [] }),
  };
  return Object.assign({ ...right }, breaks(right)) as Environment;
}
