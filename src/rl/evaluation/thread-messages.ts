import { EspalierError } from "../../core/index.ts";
import type { EngineChoice } from "../../engine/index.ts";
import type { PolicySpec } from "../policies/spec.ts";
import type { Space } from "../spaces/space.ts";
import type { HostState } from "./host-state.ts";
import type { RecordedEpisode } from "./replays.ts";
import type { SuiteResult } from "./scores.ts";
import type { Suites } from "./suites.ts";

/** An evaluation for another thread: everything in plain data. */
export interface ThreadRequest {
  readonly id: number;
  readonly policy: PolicySpec;
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  /** States of the components that the player reads. */
  readonly state: Readonly<Record<string, HostState>>;
  readonly suites: Suites;
  readonly episodes: number;
  readonly seed: number;
  readonly deterministic: boolean;
  readonly vectorCount: number | undefined;
  readonly engine: EngineChoice | undefined;
  /** How many episodes of each suite are recorded. */
  readonly recorded: number;
}

export interface ThreadFailure {
  readonly code: string | undefined;
  readonly text: string;
  readonly fix: string | undefined;
}

export interface ThreadAnswer {
  readonly id: number;
  readonly results?: readonly SuiteResult[];
  readonly recorded?: readonly RecordedEpisode[];
  readonly failure?: ThreadFailure;
}

/** An error as it travels. */
export function failureOf(error: unknown): ThreadFailure {
  if (error instanceof EspalierError) {
    const { code, fix, message } = error;
    return { code, fix, text: message.split(` [${code}]`)[0] as string };
  }
  return { code: undefined, fix: undefined, text: error instanceof Error ? error.message : String(error) };
}

/** The reverse. */
export const errorOf = ({ code, text, fix }: ThreadFailure): Error =>
  code === undefined ? new Error(text) : new EspalierError(code, text, fix === undefined ? {} : { fix });
