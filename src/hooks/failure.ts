import { EspalierError } from "../core/index.ts";
import type { HookSettings } from "./hook.ts";

/** What a hook did wrong, in words that name it and the event. */
export function failureText({ name }: HookSettings, event: string, cause: unknown): string {
  return `hook "${name}" failed in ${event}: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/** The error that reaches the host when a hook fails. */
export function failure(hook: HookSettings, event: string, cause: unknown): EspalierError {
  const handler = event !== "onRegister" && event !== "onUnregister";
  return new EspalierError("HOOK_FAILED", failureText(hook, event, cause), {
    cause,
    fix: handler
      ? 'mend the hook, or let training go on without it by onFailure: "warn" or "disable"'
      : `mend the hook's ${event}`,
  });
}
