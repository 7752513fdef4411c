import { evalShape, np, spec, type Tensor, type Value } from "../../engine/index.ts";
import type { Named } from "../../losses/index.ts";
import {
  type ApplyOptions,
  childKey,
  childParams,
  gru,
  type InitKey,
  type InitOptions,
  initializers,
  inLayer,
  lstm,
  type Model,
  type Params,
  type Recurrent,
} from "../../nn/index.ts";
import { flatSize } from "../spaces/index.ts";
import type { Space } from "../spaces/space.ts";
import { activations } from "./activations.ts";
import { cnnEncoder } from "./cnn-encoder.ts";
import { hiddenLayers } from "./hidden-layers.ts";
import type { PolicySpec } from "./spec.ts";

/** What a tower is given: flat observations [rows, size], or over time [rows, time, size]. */
export interface TowerInput {
  readonly x: Value;
  /** {} without a memory. */
  readonly state: Named;
  readonly reset: Value;
}

/** From observations to the features that heads read. */
export interface Tower {
  init(key: InitKey, options?: InitOptions): { readonly params: Params<Tensor>; readonly width: number };
  initialState(rows: number): Named;
  step(
    params: Params,
    input: TowerInput,
    options?: ApplyOptions,
  ): { readonly y: Value; readonly state: Named };
  /** Features [rows * time, width]: heads do not care for time. */
  unroll(params: Params, input: TowerInput, options?: ApplyOptions): Value;
}

type State = { readonly [name: string]: Value };
type Memory = Recurrent<State>;

function memoryOf({ memory }: PolicySpec): Memory | undefined {
  if (memory === undefined) return undefined;
  const make = memory.kind === "gru" ? gru : lstm;
  // What a recurrent layer made is what it is given again, whatever its names.
  return make(memory.width, { init: initializers.orthogonal() }) as unknown as Memory;
}

function encoderOf({ encoder = { kind: "mlp" } }: PolicySpec, space: Space): Model {
  if (encoder.kind === "cnn") return cnnEncoder(encoder, space);
  const { hidden = [64, 64], activation = "tanh" } = encoder;
  return hiddenLayers(hidden, activations[activation]);
}

/** An encoder, and a memory behind it where the description asks for one. Parameters: the encoder's, and `memory`. */
export function towerOf(given: PolicySpec, space: Space): Tower {
  const encoder = encoderOf(given, space);
  const memory = memoryOf(given);
  const size = flatSize(space);
  const encoded = (params: Params, rows: Value, options?: ApplyOptions): Value =>
    encoder.apply(params, rows, options);
  const remembering = <T>(params: Params, run: (own: Params) => T): T =>
    inLayer("memory", () => run(childParams(params, "memory")));

  return {
    init: (key, options) => {
      const rows = spec([1, size]);
      const own = encoder.init(key, rows, options);
      const [, width] = evalShape((p: Params, x: Value) => encoded(p, x), own, rows).shape as [
        number,
        number,
      ];
      if (!memory) return { params: own, width };
      const drawn = memory.init(childKey(key, "memory"), spec([1, 1, width]), options);
      return { params: { ...own, memory: drawn }, width: memory.width };
    },
    initialState: (rows) => (memory ? (memory.initialState(rows)[0] as State) : {}),
    step: (params, { x, state, reset }, options) => {
      const features = encoded(params, x, options);
      if (!memory) return { y: features, state: {} };
      const before = { x: features, state: [state as State], reset };
      const next = remembering(params, (own) => memory.step(own, before, options));
      return { y: next.y, state: next.state[0] as State };
    },
    unroll: (params, { x, state, reset }, options) => {
      const [rows, time] = x.shape as [number, number];
      const features = encoded(params, np.reshape(x, [rows * time, size]), options);
      if (!memory) return features;
      const sequence = {
        x: np.reshape(features, [rows, time, features.shape[1] as number]),
        state: [state as State],
        reset,
      };
      const { y } = remembering(params, (own) => memory.unroll(own, sequence, options));
      return np.reshape(y, [rows * time, memory.width]);
    },
  };
}
