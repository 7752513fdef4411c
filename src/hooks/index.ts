/** Hooks: what carries everything but training itself. */

export { type CompositeHookOptions, compositeHook } from "./composite.ts";
export type { Explanation } from "./explain.ts";
export type { HookFailure } from "./failure.ts";
export type {
  ContextOf,
  EventName,
  EventTable,
  Handlers,
  Hook,
  HookContext,
  HookHost,
  HookResults,
  HookSettings,
  HookState,
  HostContext,
  UnregisterReason,
} from "./hook.ts";
export type { HookLogger, OwnedLog } from "./log-outlet.ts";
export { type LoggingHookOptions, loggingHook } from "./logging.ts";
export { HookManager, type HookManagerOptions } from "./manager.ts";
export type { HookDecision, HookObserver } from "./observers.ts";
export type { OrderEdge } from "./order.ts";
export {
  type Period,
  PeriodicHook,
  type PeriodicHookOptions,
  type PeriodicOptions,
  periodicHook,
} from "./periodic.ts";
export type { HookPlan } from "./plan.ts";
export { type Slot, type SlotAccess, type SlotOptions, slot } from "./slot.ts";
export { SlotBoard } from "./slot-board.ts";
export type { HookTiming } from "./timing.ts";
