import { didYouMean, EspalierError, isPlainObject } from "../core/index.ts";
import { Tensor } from "../engine/index.ts";
import type { HostContext } from "../hooks/index.ts";
import type { Counters } from "../schedule/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { TrainerContext, TrainerEvent, TrainerState, Values } from "./events.ts";
import { storedName } from "./metrics.ts";
import type { Run } from "./run.ts";
import { type Frozen, learnedBy, modelOf, type Settings } from "./task.ts";

/** The context of the trainer's events: one object for the whole run. `run.emit` sets these three for each event. */
export type RunContext = HostContext<TrainerContext> & {
  counters: Counters;
  since: Counters | undefined;
  values: Values | undefined;
};

/**
 * Makes the context. Everything else is looked up on demand, so that moving on costs three assignments. Hooks see it
 * through views of their own, hence closures and not private fields.
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
    sharesState: run.ranks !== undefined,
    sampleUnit: task.sampleUnit,
    signal: ending.signal,
    get settings() {
      return settingsOf(run);
    },
    about: task.about,
    get state(): TrainerState {
      const { phase, progress } = run;
      const { rank, seed, name } = config;
      const { counters, validation } = progress;
      return {
        counters,
        phase,
        epochShare: run.epochShare,
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
      return run.timings.read();
    },
    get hookTimings() {
      return run.hooks.timings();
    },
    get error() {
      return ending.error;
    },
    get outcome() {
      return ending.decided ? ending.outcome : undefined;
    },
    get reason() {
      return ending.decided ? ending.reason : undefined;
    },
    get atEnd() {
      return run.atEnd;
    },
    snapshot: (names) => snapshotOf(run, names),
    stop: (reason) => ending.stop(reason),
    get endAsked() {
      const { outcome, reason, exitCode } = ending;
      return outcome && { outcome, reason, exitCode };
    },
    endTogether: (agree) => {
      ending.together = agree;
      return ({ outcome, reason = "", exitCode }) => {
        if (ending.decided) return;
        if (outcome === "interrupted") ending.interrupt(reason, exitCode);
        else if (outcome === "stopped") ending.stop(reason);
        else if (outcome === "completed") ending.complete(reason);
      };
    },
    interventions: {
      get model() {
        return modelOf(task);
      },
      get learned() {
        return learnedBy(task);
      },
      get earlierModel() {
        return run.progress.earlierModel;
      },
      putBack: async (states, measured) => {
        if (run.ranks && !measured) throw mainOnly();
        const components = componentsOf(run);
        for (const [name, state] of Object.entries(states)) await components[name]?.setState(state);
        run.progress.statesPutBack(measured);
      },
      scaleRamp: (name, factor) => run.ramps.scale(name, factor),
      setRamp: (name, value, factor) => run.ramps.set(name, value, factor),
      ramps: () => run.ramps.at(run.progress.counters),
      hooks: run.hooks,
      runHook: (name) => run.hooks.runNow(name, afterWork, context),
      standStill: async (work) => {
        const began = clock.now();
        await work().finally(() => run.progress.leaveOut(clock.now() - began));
      },
      watchNonFinite: () => run.finite.watch(),
    },
    freeze: (reads) => freeze(run, context, reads),
  };
  return context;
}

/** Events at which work has been done, in the order of the loop. */
const afterWork: readonly TrainerEvent[] = [
  "onBatchEnd",
  "onBatchesEnd",
  "onRolloutEnd",
  "onTrainPhaseEnd",
  "onValidationEnd",
  "onEpochEnd",
];

const mainOnly = (): EspalierError =>
  new EspalierError("RANKS_PUT_BACK", "a hook puts back earlier parameters on the main rank alone", {
    fix: "leave that hook out where ranks train together: skipNonFinite leaves out updates on all of them",
  });

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

/** Everything that decides how the run goes on, by name: the task's parts first, then the trainer's and the hooks'. */
export function componentsOf(run: Run): Readonly<Record<string, Stateful>> {
  return { ...run.task.components, ...ownComponents(run) };
}

function ownComponents({ progress, random, config, task, hooks }: Run): Record<string, Stateful> {
  const own: Record<string, Stateful> = { trainer: progress.trainer, time: progress.time, random };
  if (config.validate.state) own["validate.schedule"] = config.validate.state;
  for (const [name, ramp] of Object.entries(task.ramps)) if (ramp.state) own[`ramp.${name}`] = ramp.state;
  return { ...own, ...hooks.components };
}

/** The states of components frozen at this step: all, or those named. A promise only where one of them gives one. */
function snapshotOf(run: Run, names?: readonly string[]): Frozen | Promise<Frozen> {
  const own = ownComponents(run);
  const theirs = run.task.components;
  for (const name of names ?? [])
    if (!(name in own) && !(name in theirs))
      throw new EspalierError(
        "COMPONENT_UNKNOWN",
        `there is no component "${name}"${didYouMean(name, [...Object.keys(theirs), ...Object.keys(own)])}`,
        { fix: `the components are ${[...Object.keys(theirs), ...Object.keys(own)].join(", ")}` },
      );
  const ofTask = names?.filter((name) => name in theirs);
  const ofOwn = Object.keys(own).filter((name) => names === undefined || names.includes(name));
  const task = ofTask?.length === 0 ? { components: {} } : run.task.snapshot(ofTask);
  const states = ofOwn.map((name) => frozenState((own[name] as Stateful).getState()));
  const gather = (frozen: Frozen, settled: readonly StateTree[]): Frozen => ({
    components: {
      ...frozen.components,
      ...Object.fromEntries(ofOwn.map((name, i) => [name, settled[i] as StateTree])),
    },
  });
  // No state of a run whose numbers are not finite is handed out. Hooks that judge updates speak first, by their states.
  const looked = ofTask?.length === 0 ? undefined : run.finite.look();
  if (looked || task instanceof Promise || states.some((state) => state instanceof Promise)) {
    looked?.catch(() => undefined);
    return Promise.all([task, Promise.all(states)]).then(async ([frozen, settled]) => {
      await looked;
      return gather(frozen, settled);
    });
  }
  return gather(task, states as StateTree[]);
}

const frozenState = (state: StateTree | Promise<StateTree>): StateTree | Promise<StateTree> =>
  state instanceof Promise ? state.then(copied) : copied(state);

/** A copy of everything that could still be written to. Tensors cannot. */
function copied(state: StateTree): StateTree {
  if (state instanceof Tensor) return state;
  if (ArrayBuffer.isView(state)) return structuredClone(state);
  if (Array.isArray(state)) return state.map(copied);
  if (!isPlainObject(state)) return state;
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [name, copied(value as StateTree)]));
}

/**
 * Settings that a resumed run must share with the one before to go on with the same bits, as far as plain values tell:
 * the seed, the number of ranks, when validation happens, the ramps, and the task's own. Left out is what never changes
 * a bit: the run's name, how far it goes, how work is cut, what is printed.
 */
export function settingsOf({ config, task, ranks }: Pick<Run, "config" | "task" | "ranks">): Settings {
  const ramps = Object.entries(task.ramps).map(([name, ramp]) => {
    // Checkpoints have had these texts since before metrics were named in full.
    let text = ramp.describe();
    for (const full of ramp.follows ?? []) text = text.replaceAll(full, storedName(full));
    return [name, text];
  });
  return {
    seed: config.seed,
    // Ranks that share their state save what one process would.
    ranks: ranks ? 1 : config.ranks,
    ...(task.validate && { validate: config.validate.describe() }),
    ramps: Object.fromEntries(ramps),
    task: task.settings ?? {},
  };
}
