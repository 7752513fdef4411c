import { box, discrete } from "../../spaces/space.ts";
import type { Environment } from "../environment.ts";

/** A reset, or a step, of Gymnasium. */
export interface Row {
  readonly seen: readonly number[];
  readonly normalized: readonly number[];
  readonly stacked?: readonly number[];
  readonly reward?: number;
  readonly paid?: number;
  readonly terminated?: boolean;
  readonly truncated?: boolean;
}

/** An environment in which happens what was recorded. */
export function playBack(rows: readonly Row[]): Environment {
  let at = 0;
  const next = (): Row => rows[at++] as Row;
  return {
    name: "recorded",
    observationSpace: box({ shape: [rows[0]?.seen.length ?? 0] }),
    actionSpace: discrete(2),
    reset: () => ({ observation: Float32Array.from(next().seen) }),
    step() {
      const { seen, reward = 0, terminated = false, truncated = false } = next();
      return { observation: Float32Array.from(seen), reward, terminated, truncated };
    },
    getState: () => ({ at }),
    setState(state) {
      at = (state as { readonly at: number }).at;
    },
  };
}

/** What an environment gives when it is reset and stepped as the rows were. */
export const played = (environment: Environment, rows: readonly Row[]) =>
  rows.map((row) =>
    row.reward === undefined ? { ...environment.reset(), reward: undefined } : environment.step(0),
  );
