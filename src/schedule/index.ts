/** The one language of time: when things happen, and numbers that change. */
export { type AtOptions, at } from "./at.ts";
export { type BetweenOptions, between } from "./between.ts";
export { type ByMetricOptions, byMetric } from "./by-metric.ts";
export { asRamp, constant, isRamp } from "./constant.ts";
export { type Adds, advanceCounters, type Counters, noCounters, type Unit } from "./counters.ts";
export { type CycleOptions, cycle } from "./cycle.ts";
export { defineSchedule, type ScheduleDefinition } from "./define.ts";
export type { Duration } from "./duration.ts";
export { type EveryOptions, every, everySteps } from "./every.ts";
export {
  type CosineOptions,
  cosine,
  type LinearOptions,
  linear,
  type SawtoothOptions,
  sawtooth,
} from "./linear.ts";
export { type OneCycleOptions, oneCycle } from "./one-cycle.ts";
export { type PiecewiseOptions, piecewise } from "./piecewise.ts";
export type { Ramp } from "./ramp.ts";
export type { Moment, Point, Schedule } from "./schedule.ts";
export { countOf, type InUnit, UNITS } from "./units.ts";
export { type WarmupOptions, warmup } from "./warmup.ts";
export { always, never, when } from "./when.ts";
