import { EspalierError, messageOf } from "../core/index.ts";
import type { Tensor } from "../engine/index.ts";
import { type Stateful, type StateTree, walkState } from "../state/index.ts";
import { stoppedIn, withoutStop } from "../trainer/index.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { type ComputedBy, computedByDifferences } from "./computed-by.ts";
import type { Json } from "./json.ts";
import { configDifferences, type Manifest } from "./manifest.ts";
import { leafName } from "./snapshot.ts";

/** Differences between a run and the checkpoint that it goes on from. */
export type Allowed = "config" | "computedBy" | "devices" | "hooks" | "stopped";

/** The part of a checkpoint that a run takes over. */
export type RestoreMode = "exact" | "warmStart" | "warmStartOptimizer";

/** Options of `restore`: the part of a checkpoint to take, and the differences to accept. */
export interface RestoreOptions {
  /**
   * Default: `exact`, everything, so that the run goes on as if it had never stopped; any obstacle to that is an error.
   * `warmStart` takes parameters alone, `warmStartOptimizer` the optimizer's state too.
   */
  readonly mode?: RestoreMode;
  /** The components that are parameters, and those that are the optimizer's. */
  readonly parameters?: readonly string[];
  readonly optimizer?: readonly string[];
  /** The settings of this run, to be compared with those of the checkpoint. */
  readonly config?: Json;
  /** Options of this run's compiled programs, to be compared. */
  readonly compileOptions?: Json;
  /**
   * Differences to accept with a warning: the run then goes on well, but perhaps not with the same bits. `devices` is
   * another number of devices that train together, or another way to share the optimizer's state. `hooks` are those with
   * a state that were added, which start fresh, or left out. `stopped` continues a run that `stop` ended.
   */
  readonly allow?: readonly Allowed[];
}

type Components = Readonly<Record<string, Stateful>>;
type Present = ReadonlyMap<string, ReadonlyMap<string, Tensor>>;

/** Compares first, reads and verifies second, and only then changes components. Gives the checkpoint's manifest. */
export async function restoreFrom(
  components: Components,
  checkpoint: Checkpoint,
  options: RestoreOptions,
  context: {
    readonly computedBy: (tensor: Tensor | undefined) => Promise<ComputedBy>;
    readonly warn: (text: string) => void;
  },
): Promise<Manifest> {
  const { mode = "exact", allow = [], parameters = ["params"], optimizer = ["optimizer"] } = options;
  const warm = mode === "warmStart" ? parameters : [...parameters, ...optimizer];
  const chosen = mode === "exact" ? undefined : warm;
  const names = Object.keys(components).filter((name) => chosen?.includes(name) ?? true);
  const present: Present = new Map(
    await Promise.all(
      names.map(async (name) => [name, tensorsOf(await (components[name] as Stateful).getState())] as const),
    ),
  );
  const missing = nameDifferences(names, chosen ?? checkpoint.components, checkpoint).filter(
    ({ name }) => !components[name]?.optional,
  );
  const isHook = ({ name }: { readonly name: string }): boolean =>
    mode === "exact" && name.startsWith("hook.");
  const problems = [
    ...missing.filter((one) => !isHook(one)).map(({ problem }) => problem),
    ...(await tensorDifferences(components, present, checkpoint)),
  ];
  if (mode === "exact") {
    const { manifest } = checkpoint;
    const first = [...present.values()].flatMap((tensors) => [...tensors.values()])[0];
    const settings = options.config === undefined ? [] : configDifferences(manifest.config, options.config);
    const computedBy = await context.computedBy(first);
    const machine = computedByDifferences(manifest.computedBy, computedBy);
    const devices = computedByDifferences(manifest.computedBy, computedBy, ["devices"]);
    for (const [what, found] of [
      ["config", settings],
      ["computedBy", machine],
      ["devices", devices],
      ["hooks", missing.filter(isHook).map(({ problem }) => problem)],
    ] as const)
      if (!allow.includes(what)) problems.push(...found);
      else for (const problem of found) context.warn(`resuming from ${checkpoint.path}: ${problem}`);
  }
  if (problems.length > 0) {
    // First: the header of a damaged file fits no run. Files that fit are hashed as they are read.
    await checkpoint.verified(names.filter((name) => checkpoint.components.includes(name)));
    throw mismatch(checkpoint, mode, problems);
  }
  const states = await Promise.all(
    names
      .filter((name) => checkpoint.components.includes(name))
      .map(
        async (name) => [name, await checkpoint.state(name, (path) => present.get(name)?.get(path))] as const,
      ),
  );
  for (const [name, saved] of states) {
    const stopped = name === "trainer" && allow.includes("stopped") ? stoppedIn(saved) : undefined;
    if (stopped !== undefined)
      context.warn(`resuming from ${checkpoint.path}: the run was stopped (${stopped}), and goes on`);
    const state = stopped === undefined ? saved : withoutStop(saved);
    try {
      await components[name]?.setState(state);
    } catch (cause) {
      throw new EspalierError(
        "RESTORE_FAILED",
        `component "${name}" did not take its state from ${checkpoint.path}: ${messageOf(cause)}`,
        { fix: "start again: components before it have taken theirs", cause },
      );
    }
  }
  return checkpoint.manifest;
}

function tensorsOf(state: StateTree): ReadonlyMap<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  walkState(state, (path, node) => {
    if (node.kind === "tensor") tensors.set(leafName([], path), node.value);
  });
  return tensors;
}

function nameDifferences(
  here: readonly string[],
  wanted: readonly string[],
  checkpoint: Checkpoint,
): readonly { readonly name: string; readonly problem: string }[] {
  const saved = checkpoint.components;
  const all = [...new Set([...here, ...wanted])];
  return all.flatMap((name) => {
    if (!saved.includes(name)) return [{ name, problem: `component "${name}" is not in the checkpoint` }];
    return here.includes(name) ? [] : [{ name, problem: `component "${name}" is not in this run` }];
  });
}

async function tensorDifferences(
  components: Components,
  present: Present,
  checkpoint: Checkpoint,
): Promise<readonly string[]> {
  const shared = [...present].filter(
    ([name]) => checkpoint.components.includes(name) && !components[name]?.varies,
  );
  const found = shared.map(async ([name, tensors]) => {
    const saved = await checkpoint.tensorTypes(name);
    const paths = [...new Set([...saved.keys(), ...tensors.keys()])];
    return paths.flatMap((path) => {
      const [then, now] = [saved.get(path), tensors.get(path)?.type.text];
      if (then === now) return [];
      if (now === undefined) return [`${name}: ${path} (${then}) is not in this run`];
      if (then === undefined) return [`${name}: ${path} (${now}) is not in the checkpoint`];
      return [`${name}: ${path} is ${then} in the checkpoint and ${now} here`];
    });
  });
  return (await Promise.all(found)).flat();
}

function mismatch(checkpoint: Checkpoint, mode: RestoreMode, problems: readonly string[]): EspalierError {
  const list = problems.map((problem) => `\n  - ${problem}`).join("");
  return new EspalierError(
    "CHECKPOINT_MISMATCH",
    `${checkpoint.path} does not fit this run (${mode}):${list}`,
    {
      fix:
        mode === "exact"
          ? 'resume with the same set-up; or begin anew in another directory; or take over the parameters alone: mode: "warmStart"; or accept other settings, another machine, other devices or other hooks: allow: ["config", "computedBy", "devices", "hooks"]'
          : "give the model of the checkpoint",
    },
  );
}
