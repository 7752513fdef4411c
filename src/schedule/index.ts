/** The one language of time: when things happen, and numbers that change. */

export { type ByMetricOptions, byMetric } from "./by-metric.ts";
export { type Adds, advanceCounters, type Counters, noCounters, type Unit } from "./counters.ts";
export { always, type BetweenOptions, between, type CycleOptions, cycle, never, when } from "./periods.ts";
export { type AtOptions, at, type EveryOptions, every, everySteps } from "./points.ts";
export {
  asRamp,
  type CosineOptions,
  constant,
  cosine,
  type Duration,
  isRamp,
  type LinearOptions,
  linear,
  type OneCycleOptions,
  oneCycle,
  type PiecewiseOptions,
  piecewise,
  type Ramp,
  type SawtoothOptions,
  sawtooth,
  type WarmupOptions,
  warmup,
} from "./ramps.ts";
export {
  defineSchedule,
  type Moment,
  type Point,
  type Schedule,
  type ScheduleDefinition,
} from "./schedule.ts";
export { countOf, type InUnit, UNITS } from "./units.ts";
