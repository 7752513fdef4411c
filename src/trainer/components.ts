import { didYouMean, EspalierError, isPlainObject } from "../core/index.ts";
import { Tensor } from "../engine/index.ts";
import type { Stateful, StateTree } from "../state/index.ts";
import type { Run } from "./run.ts";
import type { Frozen, Task } from "./task.ts";

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

/** Refuses names that the trainer uses for parts of its own. */
export function checkComponents(task: Task): void {
  for (const name of Object.keys(task.components))
    if (["trainer", "time", "random", "slots"].includes(name) || /^(hook|ramp|validate)\./.test(name))
      throw new EspalierError(
        "TASK_INVALID",
        `the task has a component "${name}", as the trainer itself has`,
        {
          fix: "give the task's component another name",
        },
      );
}

/** The states of components frozen at this step: all, or those named. A promise only where one of them gives one. */
export function snapshotOf(run: Run, names?: readonly string[]): Frozen | Promise<Frozen> {
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
  // Nothing of a run is handed out whose numbers are not finite. Hooks that judge updates speak first, by their states.
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

/** A copy of what could still be written to. Tensors cannot. */
function copied(state: StateTree): StateTree {
  if (state instanceof Tensor) return state;
  if (ArrayBuffer.isView(state)) return structuredClone(state);
  if (Array.isArray(state)) return state.map(copied);
  if (!isPlainObject(state)) return state;
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [name, copied(value as StateTree)]));
}
