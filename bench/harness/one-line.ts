/** What went wrong in one line, for a table. */
export const oneLine = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).replace(/\s*\n\s*/g, "; ");
