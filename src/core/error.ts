/** What an {@link EspalierError} may carry beside its code and message. */
export interface ErrorDetails {
  /** What the user can do about it, as an instruction. */
  readonly fix?: string;
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** Where in the user's own code or file it happened, e.g. `train.ts:12:5`. */
  readonly at?: string;
}

/**
 * The one error type of Espalier: a stable code to test against, the cause in words, and the fix.
 *
 * @example
 * ```ts
 * try { step(params, batch); } catch (error) {
 *   if (error instanceof EspalierError && error.code === "SHAPE_MISMATCH") console.error(error.fix);
 * }
 * ```
 */
export class EspalierError extends Error {
  override readonly name = "EspalierError";
  readonly code: string;
  readonly fix: string | undefined;
  readonly at: string | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    const parts = [`${message} [${code}]`];
    if (details.at) parts.push(`  at: ${details.at}`);
    if (details.fix) parts.push(`  fix: ${details.fix}`);
    super(parts.join("\n"), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.fix = details.fix;
    this.at = details.at;
  }
}
