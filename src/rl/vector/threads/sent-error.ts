import { EspalierError } from "../../../core/index.ts";
import { textOf } from "../failure.ts";

/** An error on its way between threads, which keep no classes. */
export interface SentError {
  readonly code: string;
  readonly text: string;
  readonly fix: string | undefined;
  readonly cause:
    | { readonly name: string; readonly message: string; readonly stack: string | undefined }
    | undefined;
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof EspalierError))
    return {
      code: "ENVIRONMENT_FAILED",
      text: `a thread of environments failed: ${error}`,
      fix: undefined,
      cause: sendCause(error),
    };
  return { code: error.code, text: textOf(error), fix: error.fix, cause: sendCause(error.cause) };
}

function sendCause(cause: unknown): SentError["cause"] {
  if (cause === undefined) return undefined;
  if (!(cause instanceof Error)) return { name: "Error", message: String(cause), stack: undefined };
  return { name: cause.name, message: cause.message, stack: cause.stack };
}

export function receiveError({ code, text, fix, cause }: SentError): EspalierError {
  const error = cause && Object.assign(new Error(cause.message), { name: cause.name, stack: cause.stack });
  return new EspalierError(code, text, { ...(fix !== undefined && { fix }), cause: error });
}
