import { expectTypeOf } from "vitest";
import { every, when } from "../schedule/index.ts";
import {
  type ContextOf,
  compositeHook,
  type Hook,
  type HookContext,
  HookManager,
  type HookResults,
  loggingHook,
  PeriodicHook,
  periodicHook,
  slot,
} from "./index.ts";

interface StepContext extends HookContext {
  readonly lesson: string;
}

type WorkerEvents = { readonly onStep: StepContext; readonly onClose: HookContext };

const manager = new HookManager<WorkerEvents>({ events: ["onStep", "onClose"] });

// Contexts are inferred, each event's own.
manager.register({
  name: "lesson",
  onStep: (context) => {
    expectTypeOf(context).toEqualTypeOf<StepContext>();
    return { lesson: context.lesson };
  },
  onClose: (context) => expectTypeOf(context).toEqualTypeOf<HookContext>(),
});

// Misspelt names do not compile, neither of events nor of settings.
manager.register({
  name: "misspelt",
  // @ts-expect-error onStep
  onStpe: () => {},
});
manager.register({
  name: "misspelt",
  // @ts-expect-error schedule
  shedule: every({ steps: 1 }),
  onStep: () => {},
});
// @ts-expect-error a hook has a name
manager.register({ onStep: () => {} });
// @ts-expect-error no such policy
manager.register({ name: "a", onFailure: "ignore", onStep: () => {} });
// @ts-expect-error no such event
new HookManager<WorkerEvents>({ events: ["onStart"] });
// @ts-expect-error no such event
manager.mayRun("onStart", {});

// Conditions see the host's context; a schedule of another host's does not fit.
manager.register({
  name: "a",
  schedule: when((context: StepContext) => context.lesson === "x"),
  onStep: () => {},
});

// Results are merged, now or later.
declare const context: Omit<StepContext, "event" | "slots" | "log">;
expectTypeOf(manager.run("onStep", context)).toEqualTypeOf<
  HookResults | undefined | Promise<HookResults | undefined>
>();
// @ts-expect-error onStep needs a lesson
manager.run("onStep", {} as Omit<HookContext, "event" | "slots" | "log">);

// Factories and classes are hooks.
const periodic = periodicHook<WorkerEvents>({
  name: "p",
  frequency: 10,
  on: "onStep",
  run: (given) => expectTypeOf(given).toEqualTypeOf<ContextOf<WorkerEvents>>(),
});
expectTypeOf(periodic).toEqualTypeOf<Hook<WorkerEvents>>();
// @ts-expect-error no such event
periodicHook<WorkerEvents>({ name: "p", frequency: 10, on: "onBatchEnd", run: () => {} });
// @ts-expect-error a period is needed
periodicHook<WorkerEvents>({ name: "p", run: () => {} });

class Health extends PeriodicHook<StepContext> {
  override run({ lesson }: StepContext): unknown {
    return { lesson };
  }
}
manager.register(new Health({ frequency: 25, on: "onStep" }));
manager.unregister(new Health({ schedule: every({ episodes: 5 }), on: "onStep" }));

// Composites need no type argument where their hooks are known, and infer contexts where one is given.
manager.register(
  compositeHook({ name: "both", hooks: [periodic, loggingHook<WorkerEvents>({ on: "onStep" })] }),
);
manager.register(
  compositeHook<WorkerEvents>({
    name: "inline",
    hooks: [{ name: "a", onStep: ({ lesson }) => expectTypeOf(lesson).toEqualTypeOf<string>() }],
  }),
);

// Slots carry their types.
const scores = slot<{ readonly reward: number }>("scores");
manager.register({
  name: "slots",
  provides: [scores],
  onStep({ slots }) {
    expectTypeOf(slots.get(scores)).toEqualTypeOf<{ readonly reward: number } | undefined>();
    expectTypeOf(slots.previous(scores)).toEqualTypeOf<{ readonly reward: number } | undefined>();
    slots.set(scores, { reward: 1 });
    // @ts-expect-error a reward is a number
    slots.set(scores, { reward: "high" });
  },
});
