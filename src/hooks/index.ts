/** Hooks: objects with handlers for a host's events, that carry everything but training itself. */

export type { HookTiming } from "./entry.ts";
export type {
  ContextOf,
  EventName,
  Handlers,
  Hook,
  HookContext,
  HookDecision,
  HookHost,
  HookLogger,
  HookResults,
  HookSettings,
  HostContext,
} from "./hook.ts";
export { HostOfHooks } from "./host.ts";
export { HookManager, type HookManagerOptions } from "./manager.ts";
export type { HookPlan, PlannedHook } from "./plan.ts";
export { compositeHook, loggingHook, PeriodicHook, periodicHook } from "./ready-made.ts";
export type { HookFailure } from "./runner.ts";
export { type Slot, type SlotAccess, SlotBoard, slot } from "./slots.ts";
