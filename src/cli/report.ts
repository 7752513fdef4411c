import { inspect } from "node:util";
import pc from "picocolors";
import { EspalierError, printableText } from "../core/index.ts";

/**
 * What a failed command prints. A user's mistake gets the message and the fix; anything else is ours, and says how
 * to see more. With `debug`, the stack and the causes follow.
 */
export function describeFailure(error: unknown, debug: boolean): string {
  const label = pc.red("error:");
  if (debug) return `${label} ${printableText(inspect(error, { depth: 6 }))}`;
  if (error instanceof EspalierError) return `${label} ${error.message}`;
  const message = error instanceof Error ? error.message : String(error);
  return `${label} ${printableText(message)}\n  this is not a mistake we foresaw: run it again with --debug to see where it happened`;
}
