import { flatten, type Tree, type TreeShape, treeLeaves, unflatten } from "../../core/index.ts";
import {
  type Compiled,
  compile,
  type EngineChoice,
  type HostArray,
  np,
  put,
  Tensor,
  type Value,
  vmap,
} from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import type { Params } from "../../nn/index.ts";
import type { StateTree } from "../../state/index.ts";
import { normalize } from "../experience/normalization.ts";
import type { Policy } from "../policies/policy.ts";
import { checkPlayerState, normalizer as normalizerName, type Player, type PlayerState } from "./player.ts";

/** The inputs of a policy's step beside its parameters, as flat arrays with a row per agent. */
export interface PolicyInputs {
  readonly observations: Float32Array;
  /** 1 where an episode begins with this observation. */
  readonly resets: Uint8Array;
  /** Action masks, if the policy's actions can be masked. */
  readonly masks: Uint8Array | undefined;
  /** Two words per row from which its action is drawn. */
  readonly keys: Uint32Array;
}

/** True if a policy's actions can be masked. */
export const hasMasks = ({ distribution }: Policy): boolean => distribution.masked !== undefined;

type Shown = {
  readonly observations: Value;
  readonly resets: Value;
  readonly masks?: Value;
  readonly keys?: Value;
};

type StepProgram = Compiled<
  [params: Params, normalizer: Named, memory: Named, shown: Shown],
  { readonly action: Value; readonly memory: Named }
>;

/** Programs stay with their policy: an evaluation every few epochs compiles once. */
const programs = new WeakMap<Policy, Map<string, StepProgram>>();

function stepProgram(policy: Policy, rows: number, deterministic: boolean): StepProgram {
  const known = programs.get(policy) ?? new Map<string, StepProgram>();
  programs.set(policy, known);
  const name = `${rows} ${deterministic}`;
  const found = known.get(name);
  if (found) return found;
  const { distribution } = policy;
  const made: StepProgram = compile(
    (params: Params, normalizer: Named, memory: Named, shown: Shown) => {
      const observation = normalized(np.reshape(shown.observations, [rows, -1]), normalizer);
      const mask = shown.masks && np.notEqual(np.reshape(shown.masks, [rows, -1]), 0);
      const reset = np.notEqual(shown.resets, 0);
      const { parameters, state } = policy.step(params, { observation, state: memory, reset, mask });
      const raw =
        shown.keys === undefined
          ? distribution.mode(parameters)
          : // A key for each row: what is drawn in one does not depend on how many rows there are.
            vmap((row: Value, key: Value) => distribution.sample(row, key))(
              parameters,
              np.reshape(shown.keys, [rows, 2]),
            );
      return { action: distribution.act(raw), memory: state };
    },
    { name: "the policy's step" },
  );
  known.set(name, made);
  return made;
}

/** Observations as the run shows them to its policy. */
function normalized(observation: Value, { mean, variance }: Named): Value {
  if (mean === undefined || variance === undefined) return observation;
  const moments = { mean: mean as Value, variance: variance as Value, count: np.zeros([]) };
  return normalize(observation, moments);
}

interface PolicyStepsOptions {
  readonly player: Player;
  readonly state: PlayerState;
  readonly rows: number;
  readonly deterministic: boolean;
  readonly engine: EngineChoice | undefined;
}

/** A policy with a run's parameters, for a fixed number of rows. It keeps the memory of recurrent policies. */
export async function policySteps({ player, state, rows, deterministic, engine }: PolicyStepsOptions) {
  checkPlayerState(player, state);
  const { policy } = player;
  const params = (await onEngine(state.params ?? {}, engine)) as Params<Tensor>;
  const device = firstTensor(params)?.device;
  const where = device ? { device } : engine === undefined ? {} : { engine };
  let memory: Named<Tensor> = policy.recurrent ? compile(() => policy.initialState(rows), where)() : {};
  const statistics = state[normalizerName] as Readonly<Record<string, StateTree>> | undefined;
  const normalizer: Record<string, Tensor> = {};
  if (statistics)
    for (const name of ["mean", "variance"]) {
      const leaf = statistics[name] as StateTree;
      const numbers = leaf instanceof Tensor ? await leaf.read() : leaf;
      normalizer[name] = put(Float32Array.from(numbers as Float32Array), where);
    }
  const step = stepProgram(policy, rows, deterministic);
  const next = ({ observations, resets, masks, keys }: PolicyInputs): Tensor => {
    const shown = { observations, resets, ...(masks && { masks }), ...(!deterministic && { keys }) };
    const after = step(params, normalizer, memory, shown);
    memory = after.memory as Named<Tensor>;
    return after.action;
  };
  return {
    /** Chooses an action for each row. */
    act: async (inputs: PolicyInputs): Promise<Float32Array> => {
      const action = next(inputs);
      const numbers = await action.read();
      action.dispose();
      return numbers as Float32Array;
    },
    /** The same, waiting for the device. */
    actNow: (inputs: PolicyInputs): Float32Array => {
      const action = next(inputs);
      const numbers = action.readSync();
      action.dispose();
      return numbers as Float32Array;
    },
  };
}

/** The first tensor of a state, which tells its device. */
export const firstTensor = (state: unknown): Tensor | undefined =>
  treeLeaves(state as Tree<unknown>).find((leaf) => leaf instanceof Tensor);

/** A state as plain data, for another thread: tensors as their numbers. */
export interface HostState {
  readonly shape: TreeShape;
  readonly leaves: readonly (HostTensor | { readonly value: unknown })[];
}
type HostTensor = Pick<Tensor, "dtype" | "shape"> & { readonly data: HostArray };

/** Reads the tensors of a state from their devices, for another thread. */
export async function toHost(state: unknown): Promise<HostState> {
  const leaves: unknown[] = [];
  const shape = flatten(state, leaves);
  const read = leaves.map(async (leaf) =>
    leaf instanceof Tensor
      ? { dtype: leaf.dtype, shape: leaf.shape, data: await leaf.read() }
      : { value: leaf },
  );
  return { shape, leaves: await Promise.all(read) };
}

/** The reverse of {@link toHost}. */
export function fromHost({ shape, leaves }: HostState, engine?: EngineChoice): unknown {
  const placed = leaves.map((leaf) =>
    "data" in leaf
      ? put(leaf.data, { dtype: leaf.dtype, shape: leaf.shape, ...(engine !== undefined && { engine }) })
      : leaf.value,
  );
  return unflatten(shape, placed);
}

/** A state with its tensors on an engine: the same one if they are there, or if no engine is named. */
async function onEngine(state: unknown, engine: EngineChoice | undefined): Promise<unknown> {
  const isThere = (leaf: unknown): boolean => !(leaf instanceof Tensor) || leaf.device.engine === engine;
  if (engine === undefined || treeLeaves(state as Tree<unknown>).every(isThere)) return state;
  return fromHost(await toHost(state), engine);
}
