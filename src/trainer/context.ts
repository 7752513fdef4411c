import { EspalierError } from "../core/index.ts";
import type { HostContext } from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";
import { componentsOf, snapshotOf } from "./components.ts";
import type { TrainerContext, TrainerState, Values } from "./events.ts";
import type { Run } from "./run.ts";
import { settingsOf } from "./settings.ts";
import type { Frozen } from "./task.ts";

/** What handlers of the trainer's events see: one object for the whole run. The loop sets these three for each event. */
export type RunContext = HostContext<TrainerContext> & {
  counters: Counters;
  since: Counters | undefined;
  values: Values | undefined;
};

/**
 * Makes it. Everything else is looked up when somebody asks, so that moving on costs three assignments. Hooks see it through views of their own, hence closures and not private fields.
 */
export function contextOf(run: Run): RunContext {
  const { config, clock, random, ending, task } = run;
  const context: RunContext = {
    counters: run.progress.counters,
    since: undefined,
    values: undefined,
    config,
    clock,
    random,
    rank: config.rank,
    sampleUnit: task.sampleUnit,
    signal: ending.signal,
    get settings() {
      return settingsOf(run);
    },
    get state(): TrainerState {
      const { phase, progress } = run;
      const { rank, seed, name } = config;
      const { counters, validation } = progress;
      return {
        counters,
        phase,
        epochShare: epochShareOf(run),
        metrics: run.metrics.reader(),
        values: context.values,
        validation,
        rank,
        seed,
        run: name,
      };
    },
    get components() {
      return componentsOf(run);
    },
    get timings() {
      return run.phases.read();
    },
    get hookTimings() {
      return run.hooks.timings();
    },
    get error() {
      return ending.error;
    },
    get outcome() {
      return run.ended ? ending.outcome : undefined;
    },
    get reason() {
      return run.ended ? ending.reason : undefined;
    },
    snapshot: (names) => snapshotOf(run, names),
    stop: (reason) => ending.stop(reason),
    endTogether: (agree) => {
      ending.together = agree;
      return ({ outcome, reason = "", exitCode }) => {
        if (run.ended) return;
        if (outcome === "interrupted") ending.interrupt(reason, exitCode);
        else if (outcome === "stopped") ending.stop(reason);
      };
    },
    freeze: (reads) => freeze(run, context, reads),
  };
  return context;
}

function epochShareOf({ progress, repeats }: Run): number {
  const { counters, done } = progress;
  return counters.epochs > counters.epoch || repeats === 0 ? 0 : done / repeats;
}

/** The moving parts as they are now, with the components that a hook in the background reads. */
function freeze(run: Run, context: RunContext, reads: readonly string[]): object | Promise<object> {
  const { counters, since, state, values, timings, error, outcome, reason } = context;
  const frozen: Frozen | Promise<Frozen> = reads.length > 0 ? snapshotOf(run, reads) : { components: {} };
  const snapshot = (): Frozen | Promise<Frozen> => frozen;
  const components = noLiveComponents(Object.keys(componentsOf(run)));
  const parts = { counters, since, state, values, timings, error, outcome, reason, components, snapshot };
  return frozen instanceof Promise ? frozen.then(() => parts) : parts;
}

/** The run goes on: what a hook in the background would read of live components is not what it was started with. */
const noLiveComponents = (names: readonly string[]): object =>
  Object.defineProperties({}, Object.fromEntries(names.map((name) => [name, { get: () => notLive(name) }])));

function notLive(name: string): never {
  throw new EspalierError(
    "COMPONENT_LIVE",
    `context.components["${name}"] moves on while a hook in the background works`,
    {
      fix: `read (await context.snapshot()).components["${name}"], and name it in the hook's background: { reads: ["${name}"] }`,
    },
  );
}
