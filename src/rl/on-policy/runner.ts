import type { EspalierError } from "../../core/index.ts";
import type { CompileOptions, Tensor, Value } from "../../engine/index.ts";
import type { NonFiniteIndex, TensorState } from "../../learner/index.ts";
import type { Stateful } from "../../state/index.ts";
import type { Report, Request } from "../../trainer/index.ts";
import type { LessonResult } from "../curriculum/curriculum.ts";
import type { RolloutExperience } from "./rollout-experience.ts";
import type { RunningState } from "./sides.ts";
import type { Stretch } from "./stretch.ts";

/** What a call gave. */
export interface Done {
  /** One row an update. */
  readonly values: Readonly<Record<string, Tensor>>;
  /** One row a rollout: episodes, episode.return, episode.length. */
  readonly rollout: Readonly<Record<string, Tensor>>;
  /** Where there were updates: see {@link Report}. */
  readonly nonFinite?: Report["nonFinite"];
  /** [rollouts, lessons, 3] on the device, where lessons are counted there. */
  readonly lessons?: Tensor | undefined;
  /** Where environments are compiled: i32 [rollouts] on the device, from 0 on where one gave a number that is none. */
  readonly fault?:
    | { readonly found: Tensor; error(rollout: number, code: number): EspalierError }
    | undefined;
  /** Where the host knows them already. */
  readonly counted?: {
    readonly episodes: readonly number[];
    readonly lessons: readonly LessonResult[];
    /** What the rollout reports. */
    readonly figures: Readonly<Record<string, number>>;
  };
}

/** The part of a task that differs with where its environments run. */
export interface Runner {
  readonly components: Readonly<Record<string, Stateful>>;
  readonly maxFuse: number;
  /** Whether it can go on into the next epoch by itself. */
  readonly fusesEpochs: boolean;
  /** Begins episodes anew. */
  restart(key: Uint32Array): void;
  run(
    request: Request,
    stretches: readonly Stretch[],
    losses: { readonly rollout: readonly string[]; readonly train: readonly string[] },
  ): Done;
}

/** What runners share with the task. */
export interface RunnerParts {
  readonly running: RunningState;
  readonly experience: RolloutExperience;
  readonly halted: TensorState<Value>;
  readonly nonFinite: NonFiniteIndex;
  /** Fields that losses add, with their shapes. */
  readonly added: Readonly<Record<string, readonly number[]>>;
  readonly worldKey: Uint32Array;
  /** Asked when a program is made. */
  readonly compileOptions: () => CompileOptions;
}
