import { EspalierError, type ManualClock, manualClock } from "../../core/index.ts";
import type { HookTiming, SlotBoard } from "../../hooks/index.ts";
import type { Counters } from "../../schedule/index.ts";
import { type Outcome, Trainer, type TrainerHook, type TrainingConfig } from "../../trainer/index.ts";
import { type InjectedFailure, injecting } from "./failing.ts";
import { around, type Logged, type RecordedCall, recording } from "./recorded.ts";
import { type Script, scriptedTask } from "./script.ts";

/** Options of {@link simulate}. */
export interface SimulationOptions extends Script {
  /** Moves with the batches; read it or move it on in a handler. */
  readonly clock?: ManualClock;
  /** Hooks that are to fail, by name. */
  readonly failures?: readonly (InjectedFailure & { readonly hook: string })[];
  /** Whether batches that nobody watches run in one call, as in a real run. Default false: one by one. */
  readonly fuse?: boolean;
  /** Anything else of the training config: rank, seed, trace. */
  readonly config?: Partial<TrainingConfig>;
}

/** What happened in a scripted run. */
export interface Simulation {
  /** Every call of every handler, in the order in which they began. */
  readonly calls: readonly RecordedCall[];
  readonly logged: readonly Logged[];
  readonly warnings: readonly string[];
  /** The values that hooks shared, as they were at the end. */
  readonly slots: SlotBoard;
  readonly counters: Counters;
  /** The newest value of every metric that batches and rollouts reported. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly outcome: Outcome;
  readonly reason: string | undefined;
  readonly error: unknown;
  readonly clock: ManualClock;
  readonly timings: readonly HookTiming[];
  /** The order of the hooks, with reasons. */
  readonly plan: string;
}

/**
 * Runs hooks through a scripted run: the real trainer with its real events in their real order, and a task that
 * computes nothing. A hook that fails the run does not fail the simulation: see `outcome` and `error`. Hooks that
 * cannot be registered do.
 *
 * @example
 * ```ts
 * const run = await simulate(myHook, { epochs: 3, batches: 10 });
 * assert.deepEqual(ran(run, "my hook", "epochs"), [1, 2, 3]);
 * ```
 */
export async function simulate(
  hooks: TrainerHook | readonly TrainerHook[],
  options: SimulationOptions = {},
): Promise<Simulation> {
  const { clock = manualClock(), failures = [], fuse = false, epochs = 1, config } = options;
  const calls: RecordedCall[] = [];
  const logged: Logged[] = [];
  const warnings: string[] = [];
  const list = Array.isArray(hooks) ? (hooks as readonly TrainerHook[]) : [hooks as TrainerHook];
  checkNames(list, failures);
  const recorded = list.map((hook) => around(around(hook, injecting(failures)), recording(calls)));
  const trainer = new Trainer({
    task: scriptedTask(options, clock),
    config: { handleSignals: false, ...config, epochs, fuse },
    hooks: recorded,
    clock,
    warn: (text) => warnings.push(text),
    logger: {
      as: (hook) => ({
        log: (values, counters, category) => logged.push({ hook, values, category, counters }),
      }),
    },
  });
  const plan = trainer.hooks.plan().text;
  try {
    await trainer.train();
  } catch (error) {
    if (!trainer.result) throw error;
  }
  const { counters, metrics, outcome, reason, error, timings } = trainer.result ?? missing();
  return {
    calls,
    logged,
    warnings,
    slots: trainer.hooks.slots,
    counters,
    metrics,
    outcome,
    reason,
    error,
    clock,
    timings: timings.hooks,
    plan,
  };
}

/** A failure that could never happen would make a test pass for nothing. */
function checkNames(hooks: readonly TrainerHook[], failures: SimulationOptions["failures"] = []): void {
  const namesOf = (hook: Pick<TrainerHook, "name" | "children">): readonly string[] => [
    hook.name,
    ...(hook.children ?? []).flatMap(namesOf),
  ];
  const names = hooks.flatMap(namesOf);
  for (const { hook } of failures)
    if (!names.includes(hook))
      throw new EspalierError("HOOK_UNKNOWN", `"${hook}" is to fail, and there is no such hook`, {
        fix: `the hooks are ${names.join(", ")}`,
      });
}

function missing(): never {
  throw new EspalierError("SIMULATION_UNFINISHED", "the run ended without a result", {
    fix: "report this with the hooks that were simulated",
  });
}
