import { printableText } from "./printable.ts";

/** Details of an {@link EspalierError} beside its code and message. */
export interface ErrorDetails {
  /** The fix, as an instruction to the user. */
  readonly fix?: string;
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** Place in the user's own code or file, e.g. `train.ts:12:5`. */
  readonly at?: string;
  /** The update of a run that it is about. */
  readonly update?: number;
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
  declare readonly name: "EspalierError";
  declare readonly code: string;
  declare readonly fix: string | undefined;
  declare readonly at: string | undefined;
  declare readonly update: number | undefined;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    const { cause, update } = details;
    const text = printableText(String(message));
    const at = details.at && printableText(String(details.at));
    const fix = details.fix && printableText(String(details.fix));
    super(wholeText(code, text, at, fix), cause === undefined ? undefined : { cause });
    // Not enumerable: the message has them, and what prints an error would list them behind its stack once more.
    for (const [name, value] of Object.entries({ name: "EspalierError", code, fix, at, update }))
      Object.defineProperty(this, name, { value, configurable: true });
    if (!(cause instanceof Error)) return;
    const own = wholeText(code, withoutCause(text, cause), at, fixOf(cause) === fix ? undefined : fix);
    if (this.stack !== undefined) this.stack = this.stack.replace(this.message, () => own);
  }
}

const wholeText = (code: string, text: string, at: string | undefined, fix: string | undefined): string =>
  [`${text} [${code}]`.trimStart(), at && `  at: ${at}`, fix && `  fix: ${fix}`].filter(Boolean).join("\n");

const fixOf = (error: Error): string | undefined => (error instanceof EspalierError ? error.fix : undefined);

/**
 * The message without the text of its cause. Printing an error prints its stack and then that of the cause, so that
 * the stack of the error around it leaves out what the cause says itself. The message has all of it.
 */
function withoutCause(text: string, cause: Error): string {
  const said = printableText(cause.message);
  const [head = said] = cause instanceof EspalierError ? said.split("\n  ") : [];
  const [bare = said] = cause instanceof EspalierError ? said.split(` [${cause.code}]`) : [];
  for (const part of [said, head, bare]) {
    if (text === part) return "";
    const start = part === "" ? -1 : text.lastIndexOf(`: ${part}`);
    if (start >= 0) return text.slice(0, start) + text.slice(start + 2 + part.length);
  }
  return text;
}

/** The message of whatever was thrown. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);

/** The code of an {@link EspalierError}; undefined of whatever else was thrown. */
export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof EspalierError ? thrown.code : undefined;

/** An error's message without its code and fix. */
export const errorText = ({ message, code }: EspalierError): string =>
  message.split(` [${code}]`)[0] as string;

/** An error as plain data: messages between threads keep no classes. */
export interface SentError {
  readonly code: string | undefined;
  readonly text: string;
  readonly fix: string | undefined;
  readonly cause:
    | {
        readonly name: string;
        readonly message: string;
        readonly stack: string | undefined;
        /** That of an error of the system: ENOSPC. */
        readonly code?: string;
      }
    | undefined;
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof EspalierError)) {
    return { code: undefined, text: messageOf(error), fix: undefined, cause: sendCause(error) };
  }
  return { code: error.code, text: errorText(error), fix: error.fix, cause: sendCause(error.cause) };
}

function sendCause(cause: unknown): SentError["cause"] {
  if (cause === undefined) return undefined;
  if (!(cause instanceof Error)) return { name: "Error", message: String(cause), stack: undefined };
  const { name, message, stack, code } = cause as NodeJS.ErrnoException;
  return { name, message, stack, ...(code !== undefined && { code }) };
}

/** The error that was sent; one without a code of ours gets the name, stack and code of the system it had. */
export function receiveError({ code, text, fix, cause }: SentError): Error {
  const inner = cause && Object.assign(new Error(cause.message), cause);
  if (code === undefined) return inner ?? new Error(text);
  return new EspalierError(code, text, { ...(fix !== undefined && { fix }), cause: inner });
}
