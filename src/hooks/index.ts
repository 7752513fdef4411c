/** Hooks: objects with handlers for a host's events, that carry everything but training itself. */

export type { HookTiming } from "./entry.ts";
export type {
  ContextOf,
  EventName,
  EventTable,
  Handlers,
  Hook,
  HookContext,
  HookDecision,
  HookHost,
  HookLogger,
  HookObserver,
  HookResults,
  HookSettings,
  HookState,
  HostContext,
  OwnedLog,
  UnregisterReason,
} from "./hook.ts";
export { HookManager, type HookManagerOptions } from "./manager.ts";
export type { OrderEdge } from "./order.ts";
export type { Explanation, HookPlan } from "./plan.ts";
export {
  type CompositeHookOptions,
  compositeHook,
  type LoggingHookOptions,
  loggingHook,
  type Period,
  PeriodicHook,
  type PeriodicHookOptions,
  type PeriodicOptions,
  periodicHook,
} from "./ready-made.ts";
export type { HookFailure } from "./runner.ts";
export { type Slot, type SlotAccess, SlotBoard, type SlotOptions, slot } from "./slots.ts";
