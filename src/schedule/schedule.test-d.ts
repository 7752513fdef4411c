import { expectTypeOf } from "vitest";
import {
  at,
  between,
  cycle,
  type Duration,
  defineSchedule,
  every,
  linear,
  type Moment,
  piecewise,
  type Ramp,
  type Schedule,
  sawtooth,
  warmup,
  when,
} from "./index.ts";

// One unit, any of them, the host's own too.

expectTypeOf(every({ epochs: 10 })).toEqualTypeOf<Schedule>();
every({ updates: 100, from: 500, until: 10_000 });
every({ episodes: 20, from: 0 });
at({ epochs: [1, 5] });
at({ episodes: 3 });
between({ seconds: [0.5, 2] });
cycle({ epochs: 8, active: [1, 2] });
cycle({ episodes: 8, active: [1] });
piecewise({
  updates: [
    [0, 1],
    [10, 2],
  ],
  interpolate: true,
});
every({ updates: 10, from: undefined });

// A unit that is only known at run time.
declare const unit: string;
every({ [unit]: 3 });

// @ts-expect-error two units
every({ epochs: 10, updates: 100 });
// @ts-expect-error an index is not a unit
every({ epoch: 10 });
// @ts-expect-error units are in the plural
every({ update: 10 });
// @ts-expect-error there is no such option
every({ updates: 10, form: 3 });
// @ts-expect-error units are always written
every(10);
// @ts-expect-error positions are needed
cycle({ epochs: 8 });
// @ts-expect-error two numbers
between({ epochs: 8 });
// @ts-expect-error a duration has a unit
linear({ from: 0, to: 1, over: 100 });
// @ts-expect-error there is no such shape
sawtooth({ from: 0, to: 1, over: { epochs: 1 }, shape: "sine" });

const duration: Duration = { samples: 1000 };
expectTypeOf(warmup(duration, linear({ from: 1, to: 0, over: duration }))).toEqualTypeOf<Ramp>();
expectTypeOf(warmup(duration, 1)).toEqualTypeOf<Ramp>();

// A condition on a host's context makes a schedule for that host, through and, or and not.

interface Context extends Moment {
  readonly rank: number;
}
const main = when((context: Context) => context.rank === 0);
expectTypeOf(main).toEqualTypeOf<Schedule<Context>>();
expectTypeOf(main.not()).toEqualTypeOf<Schedule<Context>>();
expectTypeOf(every({ epochs: 1 }).and(main).due)
  .parameter(0)
  .toExtend<Context>();
expectTypeOf(when(({ counters }) => counters.epochs > 3)).toEqualTypeOf<Schedule<Moment>>();

// Where a hook says which host it is for, the condition's context is known.
const hook: { readonly schedule?: Schedule<Context> } = { schedule: when((context) => context.rank === 0) };
expectTypeOf(hook.schedule).toEqualTypeOf<Schedule<Context> | undefined>();

// @ts-expect-error conditions answer at once
when(async () => true);

expectTypeOf(defineSchedule({ due: () => true, describe: () => "now" })).toEqualTypeOf<Schedule>();
