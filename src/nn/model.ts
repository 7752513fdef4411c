import type { Device, EngineChoice, Spec, Specs, Tensor, Value } from "../engine/index.ts";
import type { Moments } from "./moments.ts";
import type { Recipe } from "./recipe.ts";

/** Parameters: plain nested objects, whose keys make readable paths such as `hidden.dense0.w`. */
export type Params<T = Value> = { readonly [name: string]: T | Params<T> };

/** Options of applying a model. */
export interface ApplyOptions {
  /** True during training: dropout drops only then. */
  readonly train?: boolean;
  /** A key (u32[2]) for layers that draw random numbers; needed where one does while training. */
  readonly key?: Value;
  /** Takes the new running moments of layers that have some; needed where one does while training. */
  readonly moments?: Moments;
}

/** Placement of parameters. */
export interface InitOptions {
  readonly engine?: EngineChoice;
  readonly device?: number | Device;
}

/** Two words to draw initial parameters from: `streams.get("params").key()`, or a plain seed. */
export type InitKey = Uint32Array | number;

/**
 * A model is two functions and no class. `init` draws parameters on the host, so that one seed gives the same numbers
 * on every engine; `apply` is pure math on values, for use inside `compile`.
 *
 * @example
 * ```ts
 * const model = sequential([dense(64), nn.relu, dense(2)]);
 * const params = model.init(0, spec([32, 4]));
 * const predict = compile((p: Params, x: Value) => model.apply(p, x));
 * ```
 */
export interface Model<X = Value, Y = Value> {
  /** Name for summaries and errors: `dense`, `sequential`. */
  readonly kind: string;
  /** The layers inside, by name, where it is made of others. */
  readonly layers?: Readonly<Record<string, Model<never, unknown>>>;
  /** Plain values from which `nn.fromRecipe` builds it again; none where it holds functions of the caller's own. */
  readonly recipe?: Recipe;
  /** Draws parameters for inputs like `input`, whose first axis is the batch. */
  init(key: InitKey, input: Specs<X>, options?: InitOptions): Params<Tensor>;
  apply(params: Params, x: X, options?: ApplyOptions): Y;
}

/** A layer in a list of layers: a model, or a plain function without parameters such as `nn.relu`. */
export type Layer = Model | ((x: Value) => Value);

export type { Spec };
