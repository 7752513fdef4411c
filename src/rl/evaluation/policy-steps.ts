import {
  type Compiled,
  compile,
  type EngineChoice,
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
import { onEngine } from "./host-state.ts";
import { checkState, normalizer as normalizerName, type Player, type PlayerState } from "./player.ts";
import type { Seating } from "./seating.ts";

/** What a step of the policy gets beside its parameters: one axis each, as they lie in memory. */
interface Shown {
  readonly observations: Value;
  readonly resets: Value;
  readonly masks?: Value;
  readonly keys?: Value;
}

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
          : // A key for each row, so that what is drawn in one does not depend on how many there are.
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

export interface PolicyStepsOptions {
  readonly player: Player;
  readonly state: PlayerState;
  readonly rows: number;
  readonly deterministic: boolean;
  readonly engine: EngineChoice | undefined;
}

/** The policy with a run's parameters, for so many rows at a time. It remembers, where the policy does. */
export class PolicySteps {
  readonly #step: StepProgram;
  readonly #deterministic: boolean;
  readonly #params: Params<Tensor>;
  readonly #normalizer: Named<Tensor>;
  #memory: Named<Tensor>;

  private constructor(
    step: StepProgram,
    deterministic: boolean,
    params: Params<Tensor>,
    normalizer: Named<Tensor>,
    memory: Named<Tensor>,
  ) {
    this.#step = step;
    this.#deterministic = deterministic;
    this.#params = params;
    this.#normalizer = normalizer;
    this.#memory = memory;
  }

  static async open({
    player,
    state,
    rows,
    deterministic,
    engine,
  }: PolicyStepsOptions): Promise<PolicySteps> {
    checkState(player, state);
    const { policy } = player;
    const params = (await onEngine(state.params ?? {}, engine)) as Params<Tensor>;
    const device = firstTensor(params)?.device;
    const place = device ? { device } : engine === undefined ? {} : { engine };
    const memory = policy.recurrent ? compile(() => policy.initialState(rows), place)() : {};
    const statistics = state[normalizerName] as Readonly<Record<string, StateTree>> | undefined;
    const normalizer: Record<string, Tensor> = {};
    if (statistics)
      for (const name of ["mean", "variance"]) {
        const numbers = (await numbersOf(statistics[name] as StateTree)) as Float32Array;
        normalizer[name] = put(Float32Array.from(numbers), place);
      }
    const step = stepProgram(policy, rows, deterministic);
    return new PolicySteps(step, deterministic, params, normalizer, memory as Named<Tensor>);
  }

  /** What the environments are given: a row of actions for each row. */
  async act(shown: Seating): Promise<Float32Array> {
    const action = this.#next(shown);
    const numbers = await action.read();
    action.dispose();
    return numbers as Float32Array;
  }

  /** The same at once, waiting for the device. */
  actNow(shown: Seating): Float32Array {
    const action = this.#next(shown);
    const numbers = action.readSync();
    action.dispose();
    return numbers as Float32Array;
  }

  #next({ observations, resets, masks, keys }: Seating): Tensor {
    const shown = {
      observations,
      resets,
      ...(masks && { masks }),
      ...(!this.#deterministic && { keys }),
    };
    const { action, memory } = this.#step(
      this.#params as never,
      this.#normalizer as never,
      this.#memory as never,
      shown as never,
    );
    this.#memory = memory as Named<Tensor>;
    return action;
  }
}

const numbersOf = (leaf: StateTree): Promise<unknown> | unknown =>
  leaf instanceof Tensor ? leaf.read() : leaf;

function firstTensor(tree: Params<Tensor>): Tensor | undefined {
  for (const part of Object.values(tree)) {
    const found = part instanceof Tensor ? part : firstTensor(part);
    if (found) return found;
  }
  return undefined;
}
