import { EspalierError, isPlainObject } from "../core/index.ts";
import type { HookResults } from "./hook.ts";

/** What the hooks of one event returned, merged. Two hooks with the same key are an error that names both. */
export class Results {
  readonly #event: string;
  #merged: Record<string, unknown> | undefined;
  #owners: Map<string, string> | undefined;

  constructor(event: string) {
    this.#event = event;
  }

  add(hook: string, result: unknown): void {
    if (result === undefined || !isPlainObject(result)) return;
    this.#merged ??= {};
    this.#owners ??= new Map();
    for (const [key, value] of Object.entries(result)) {
      const other = this.#owners.get(key);
      if (other !== undefined)
        throw new EspalierError(
          "HOOK_RESULT_CONFLICT",
          `the hooks "${other}" and "${hook}" both returned "${key}" in ${this.#event}`,
          { fix: `return it under another name in one of them, or share it by a slot` },
        );
      this.#owners.set(key, hook);
      this.#merged[key] = value;
    }
  }

  get merged(): HookResults | undefined {
    return this.#merged;
  }
}
