import { EspalierError } from "../core/index.ts";
import type { HookSettings } from "./hook.ts";

/** A hook that failed under `onFailure: "warn"` or `"disable"`: in which event, how often, and why the last time. */
export interface HookFailure {
  readonly hook: string;
  readonly event: string;
  readonly count: number;
  readonly error: unknown;
}

/** What a hook did wrong, in words that name it and the event. */
export function failureText({ name }: HookSettings, event: string, cause: unknown): string {
  return `hook "${name}" failed in ${event}: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/** The error that reaches the host when a hook fails. Its fix is the cause's, where that says what to do. */
export function failure(hook: HookSettings, event: string, cause: unknown): EspalierError {
  const handler = event !== "onRegister" && event !== "onUnregister";
  const known = cause instanceof EspalierError ? cause.fix : undefined;
  const text = failureText(hook, event, cause).replace(`\n  fix: ${known}`, "");
  const fix =
    known ??
    (handler
      ? 'mend the hook, or let training go on without it by onFailure: "warn" or "disable"'
      : `mend the hook's ${event}`);
  return new EspalierError("HOOK_FAILED", text, { cause, fix });
}
