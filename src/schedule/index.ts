/** The one language of time: when things happen, and numbers that change. */

export { byMetric } from "./by-metric.ts";
export {
  type Adds,
  advanceCounters,
  anyCounters,
  type Counters,
  hasBegun,
  isSameWork,
  noCounters,
  timeless,
  type Unit,
} from "./counters.ts";
export { always, between, cycle, never, when } from "./periods.ts";
export { at, every, everySteps } from "./points.ts";
export {
  asRamp,
  constant,
  cosine,
  type Duration,
  isRamp,
  linear,
  oneCycle,
  piecewise,
  type Ramp,
  sawtooth,
  warmup,
} from "./ramps.ts";
export {
  defineSchedule,
  type Moment,
  type Point,
  type Schedule,
  type ScheduleDefinition,
} from "./schedule.ts";
export { countOf, UNITS } from "./units.ts";
