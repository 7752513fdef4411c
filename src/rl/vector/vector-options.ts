import type { EspalierError } from "../../core/index.ts";
import type { FailurePolicy } from "./failure.ts";
import type { VectorEnvironment } from "./vector.ts";

/** What vectors of both kinds are told. */
export interface VectorOptions {
  /** How many environments. */
  readonly count: number;
  /** What happens when an environment fails, for all or by index. Default "stop". */
  readonly onFailure?: FailurePolicy | ((index: number) => FailurePolicy);
  /** Told why an environment was made anew, under `onFailure: "restart"`. Default a warning of the process. */
  readonly onRestart?: (error: EspalierError) => void;
}

/** A vector that can make single environments anew. */
export interface RestartingVector extends VectorEnvironment {
  readonly restarts: Int32Array;
}

export const warnOfRestart = (error: EspalierError): void => {
  process.emitWarning(`${error.message}\n  It has been made anew.`, { code: error.code });
};
